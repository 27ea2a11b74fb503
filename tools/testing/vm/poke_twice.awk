# SPDX-License-Identifier: GPL-2.0-only
# Print arch/x86/kernel/alternative.c with the last step of patching code done twice. If there is no
# such step, print the file as it is, and exit with 1.
#
# QEMU before 8.1 can keep its translation of a breakpoint that another CPU replaces at that moment: it
# locks the page only after it has read it. Whoever executes that breakpoint later dies of "Oops: int3".
# With tracepoints that are enabled and disabled under load, this took 20 to 90 s.
#
# The step ends when all CPUs have handled an interrupt. None of them is then still translating the
# breakpoint, and writing the same byte once more discards translations that are wrong.

{ line[NR] = $0 }

# Each step begins with a comment, whose first line is the one before.
/Third step: replace the first byte/ { first = NR - 1 }
first && !next_step && /Remove and wait for refs/ { next_step = NR - 1 }

END {
	for (i = 1; i <= NR; i++) {
		if (i == next_step)
			for (j = first; j < next_step; j++)
				print line[j]
		print line[i]
	}
	exit !next_step
}
