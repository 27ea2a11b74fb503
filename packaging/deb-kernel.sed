# SPDX-License-Identifier: GPL-2.0-only
# Change the control file that mkdebian of Linux writes.
#
# Debian's linux-libc-dev stays: programs that read our rings take the ABI from
# libperf-overwrite-dev.
/^Package: linux-libc-dev/,/^$/d
# As Debian's package. The cloud flavour finds no disk without an initramfs.
/^Package: linux-image-/a\
Depends: kmod, linux-base, initramfs-tools | linux-initramfs-tool
# Libraries of objtool, resolve_btfids and sign-file
/^Package: linux-headers-/a\
Depends: libc6, libelf1 | libelf1t64, libssl3 | libssl3t64, zlib1g
