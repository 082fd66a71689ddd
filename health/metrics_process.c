/* SPDX-License-Identifier: Apache-2.0
 *
 * The process_* families of metrics.h, from /proc/self (proc(5)) and getrlimit(2). Any thread. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "health/metrics.h"

struct proc_stat {
    uint64_t cpu_ticks;
    uint64_t start_ticks; /* since boot */
    uint64_t virtual_bytes;
    uint64_t resident_pages;
};

/* The comm in field 2 may hold blanks and brackets: the fields are counted from the last ')'. */
static bool read_proc_stat(struct proc_stat *out)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL)
        return false;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';

    const char *fields = strrchr(text, ')');
    uint64_t user_ticks, system_ticks;
    if (fields == NULL || sscanf(fields + 1,
                                 " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                                 " %*d %*d %*d %*d %*d %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
                                 &user_ticks, &system_ticks, &out->start_ticks, &out->virtual_bytes,
                                 &out->resident_pages) != 5)
        return false;
    out->cpu_ticks = user_ticks + system_ticks;
    return true;
}

/* Boot time in seconds since the epoch, from the btime line of /proc/stat; 0 when unknown. */
static uint64_t read_boot_time_s(void)
{
    char line[256];
    uint64_t boot_s = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL)
        return 0;
    while (boot_s == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "btime %" SCNu64, &boot_s) != 1)
            boot_s = 0;
    }
    fclose(file);
    return boot_s;
}

static uint64_t count_open_fds(void)
{
    uint64_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (entry->d_name[0] != '.')
            count++;
    closedir(dir);
    return count - 1; /* the directory's own */
}

static void one(struct metrics_text *text, enum metric metric, uint64_t value)
{
    metrics_family(text, metric);
    metrics_sample(text, metric, value, NULL);
}

static void one_ns(struct metrics_text *text, enum metric metric, uint64_t ns)
{
    metrics_family(text, metric);
    metrics_sample_ns(text, metric, ns, NULL);
}

void metrics_process(struct metrics_text *text)
{
    uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t boot_s = read_boot_time_s();
    uint64_t open_fds = count_open_fds();
    struct proc_stat stat;
    struct rlimit fds;

    if (read_proc_stat(&stat)) {
        one_ns(text, METRIC_PROCESS_CPU_SECONDS, stat.cpu_ticks * tick_ns);
        one(text, METRIC_PROCESS_RESIDENT_MEMORY,
            stat.resident_pages * (uint64_t)sysconf(_SC_PAGESIZE));
        one(text, METRIC_PROCESS_VIRTUAL_MEMORY, stat.virtual_bytes);
        if (boot_s > 0)
            one_ns(text, METRIC_PROCESS_START_TIME,
                   boot_s * UINT64_C(1000000000) + stat.start_ticks * tick_ns);
    }
    if (open_fds > 0)
        one(text, METRIC_PROCESS_OPEN_FDS, open_fds);
    if (getrlimit(RLIMIT_NOFILE, &fds) == 0)
        one(text, METRIC_PROCESS_MAX_FDS, fds.rlim_cur);
}
