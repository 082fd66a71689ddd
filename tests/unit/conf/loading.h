/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of loading share: a configuration out of texts, nothing on the disk. */
#ifndef SLUICE_TESTS_UNIT_CONF_LOADING_H
#define SLUICE_TESTS_UNIT_CONF_LOADING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/load.h"
#include "conf/memory.h"
#include "conf/options.h"
#include "conf/print.h"
#include "conf/problem.h"

/* A file in memory; `path` stays good until close(the result). */
static inline int memory_file(const char *text, size_t len, char path[64])
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static inline struct options *load_with(const char *file_text, char **environ_,
                                        const struct load_flag *flags, size_t flag_count,
                                        struct problems *problems)
{
    char path[64];
    int fd = file_text == NULL ? -1 : memory_file(file_text, strlen(file_text), path);
    struct load_request request = {.file = file_text == NULL ? NULL : path,
                                   .environ = environ_,
                                   .flags = flags,
                                   .flag_count = flag_count};
    struct options *options = options_load(&request, problems);
    if (fd >= 0)
        (void)close(fd);
    assert_int_equal(options == NULL, problems_any(problems));
    return options;
}

static inline struct options *load_good(const char *file_text, char **environ_)
{
    struct problems problems = {0};
    struct options *options = load_with(file_text, environ_, NULL, 0, &problems);
    problems_print(&problems, stderr);
    assert_non_null(options);
    return options;
}

/* There is exactly one problem, and it holds `words`. */
static inline void assert_bad(const char *file_text, char **environ_, const char *words)
{
    struct problems problems = {0};
    assert_null(load_with(file_text, environ_, NULL, 0, &problems));
    if (problems.count != 1 || strstr(problems.lines[0], words) == NULL) {
        problems_print(&problems, stderr);
        fail_msg("expected one problem with: %s", words);
    }
    problems_fini(&problems);
}

static inline char *printed(const struct options *options)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    options_print(options, out);
    (void)fclose(out);
    return text;
}

#define ENV(...) ((char *[]){__VA_ARGS__, NULL})

#endif
