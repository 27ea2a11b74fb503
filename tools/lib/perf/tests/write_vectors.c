// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the test vectors for readers of overwrite rings to a directory.
 *
 * usage: write_vectors DIRECTORY
 *
 * Documentation/perf-ring-readers.rst describes the files.
 */
#include <err.h>
#include <stdio.h>
#include <unistd.h>

#include "vectors.h"

static void write_file(const struct vector *vector, const char *suffix, const void *data,
		       size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%s", vector->name, suffix);
	file = fopen(path, "w");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file))
		err(1, "Cannot write %s", path);
}

static void write_json(FILE *json, const struct vector *vector, bool is_first)
{
	const u64 *reserved = vector->data_reserved;

	fprintf(json, "%s\n{\n\"name\": \"%s\",\n\"about\": \"%s\",\n", is_first ? "" : ",",
		vector->name, vector->about);
	fprintf(json, "\"kind\": \"%s\",\n\"size\": %u,\n\"data_head\": \"0x%llx\",\n",
		vector->kind == PERF_OVERWRITE_SIZED ? "sized" : "backward", VECTOR_SIZE,
		(unsigned long long)vector->data_head);
	if (vector->has_data_reserved)
		fprintf(json, "\"data_reserved\": [\"0x%llx\", \"0x%llx\", \"0x%llx\", \"0x%llx\"],\n",
			(unsigned long long)reserved[0], (unsigned long long)reserved[1],
			(unsigned long long)reserved[2], (unsigned long long)reserved[3]);
	else
		fprintf(json, "\"data_head_later\": \"0x%llx\",\n",
			(unsigned long long)vector->data_head_later);
	fprintf(json, "\"taken\": \"0x%llx\",\n\"records\": %u,\n\"oldest\": \"0x%llx\",\n",
		(unsigned long long)vector->taken, vector->nr, (unsigned long long)vector->oldest);
	fprintf(json, "\"malformed\": %s\n}", vector->malformed ? "true" : "false");
}

int main(int argc, char **argv)
{
	static struct vector vector;
	unsigned int i;
	FILE *json;

	if (argc != 2)
		errx(1, "usage: write_vectors DIRECTORY");
	if (chdir(argv[1]))
		err(1, "Cannot change to %s", argv[1]);
	json = fopen("vectors.json", "w");
	if (!json)
		err(1, "Cannot write vectors.json");
	fprintf(json, "{\n\"format\": 1,\n\"vectors\": [");
	for (i = 0; vector__make(i, &vector); i++) {
		write_json(json, &vector, !i);
		write_file(&vector, "data", vector.data, VECTOR_SIZE);
		write_file(&vector, "records", vector.records, vector.bytes);
	}
	fprintf(json, "\n]\n}\n");
	if (ferror(json) || fclose(json))
		err(1, "Cannot write vectors.json");
	return 0;
}
