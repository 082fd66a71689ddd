/* SPDX-License-Identifier: Apache-2.0
 *
 * The effective configuration as a file. See print.h. */
#include "conf/print.h"

#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"
#include "conf/value.h"

const char *option_source(const struct options *options, const struct option_row *row)
{
    const char *where = options->origins[option_id_of(row)].where;
    return where == NULL ? "default" : where;
}

char *option_text(const struct options *options, const struct option_row *row)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = memory_must(open_memstream(&text, &len));
    value_print(out, options, row, VALUE_MASKED);
    (void)fclose(out);
    return memory_must(text);
}

void options_print(const struct options *options, FILE *out)
{
    const char *section = NULL;
    fprintf(out, "# file: %s\n", options->source_file == NULL ? "none" : options->source_file);
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        if (section == NULL || strcmp(section, row->section) != 0)
            fprintf(out, "%s%s = {\n", section == NULL ? "" : "};\n", row->section);
        section = row->section;
        fprintf(out, "    %s = ", row->key);
        value_print(out, options, row, VALUE_MASKED);
        fprintf(out, "; # %s\n", option_source(options, row));
    }
    fputs("};\n", out);
}
