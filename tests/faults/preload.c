/* Counts the system calls that change files below a folder, and makes one of them fail or kills the process there.
 *
 * Preloaded (LD_PRELOAD) into Python. Nothing happens until `faults_arm` is called; `faults_count` tells how many calls
 * were seen since. Processes started by exec begin unarmed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_length;
static long seen, fail_at;
static int fault, stays; /* an errno, or -1 to kill; whether later calls fail as well */
static char last[64];

void faults_arm(const char *folder, long at, int what, int keep) {
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
    seen = 0;
    fail_at = at;
    fault = what;
    stays = keep;
    last[0] = 0;
}

long faults_count(void) { return seen; }
const char *faults_last(void) { return last; }

/* Is the path, relative to an open folder or not, below the root? */
static int below(int at, const char *path) {
    char link[64], folder[PATH_MAX];
    ssize_t length;
    if (!root_length || !path) return 0;
    if (path[0] == '/') return !strncmp(path, root, root_length);
    if (at == AT_FDCWD) return getcwd(folder, sizeof folder) && !strncmp(folder, root, root_length);
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    length = readlink(link, folder, sizeof folder - 1);
    if (length < 0) return 0;
    folder[length] = 0;
    return !strncmp(folder, root, root_length);
}

/* A disk that stays full still lets files be renamed and removed. */
static int needs_space(const char *name) {
    static const char *const all[] = {"open", "write", "mkdir", "link", "symlink", "copy_file_range", "fsync", "ftruncate"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strncmp(name, all[i], strlen(all[i]))) return 1;
    return 0;
}

/* Does this call fail? */
static int fails(const char *name, int concerned) {
    if (!concerned) return 0;
    seen++;
    if (!fail_at || seen < fail_at || (seen > fail_at && !stays)) return 0;
    if (stays && !needs_space(name)) return 0;
    if (seen == fail_at) snprintf(last, sizeof last, "%s", name);
    if (fault < 0) kill(getpid(), SIGKILL);
    errno = fault;
    return 1;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))
#define CHANGES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & O_CREAT))

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        int mode = va_arg(more, int);                                                                                  \
        va_end(more);                                                                                                  \
        if (fails(#name, CHANGES(flags) && below(AT_FDCWD, path))) return -1;                                          \
        return REAL(int, #name, const char *, int, ...)(path, flags, mode);                                            \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int at, const char *path, int flags, ...) {                                                               \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        int mode = va_arg(more, int);                                                                                  \
        va_end(more);                                                                                                  \
        if (fails(#name, CHANGES(flags) && below(at, path))) return -1;                                                \
        return REAL(int, #name, int, const char *, int, ...)(at, path, flags, mode);                                   \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void *data, size_t size) {
    if (fails("write", below(file, "."))) return -1;
    return REAL(ssize_t, "write", int, const void *, size_t)(file, data, size);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    if (fails("writev", below(file, "."))) return -1;
    return REAL(ssize_t, "writev", int, const struct iovec *, int)(file, parts, count);
}
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    if (fails("copy_file_range", below(out, "."))) return -1;
    return REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned)(in, from, out, to, size,
                                                                                              flags);
}

/* Calls with one path, two paths, or a path inside an open folder. */
#define ONE(name, type, argument)                                                                                      \
    int name(const char *path type) {                                                                                  \
        if (fails(#name, below(AT_FDCWD, path))) return -1;                                                            \
        return ((int (*)(const char *type))dlsym(RTLD_NEXT, #name))(path argument);                                    \
    }
#define MORE ,
ONE(unlink, , )
ONE(rmdir, , )
ONE(mkdir, MORE mode_t mode, MORE mode)
ONE(chmod, MORE mode_t mode, MORE mode)
ONE(chown, MORE uid_t user MORE gid_t group, MORE user MORE group)

#define TWO(name)                                                                                                      \
    int name(const char *from, const char *to) {                                                                       \
        if (fails(#name, below(AT_FDCWD, to))) return -1;                                                              \
        return REAL(int, #name, const char *, const char *)(from, to);                                                 \
    }
TWO(rename)
TWO(link)
TWO(symlink)

int renameat(int a, const char *from, int b, const char *to) {
    if (fails("renameat", below(b, to))) return -1;
    return REAL(int, "renameat", int, const char *, int, const char *)(a, from, b, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    if (fails("renameat2", below(b, to))) return -1;
    return REAL(int, "renameat2", int, const char *, int, const char *, unsigned)(a, from, b, to, flags);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    if (fails("linkat", below(b, to))) return -1;
    return REAL(int, "linkat", int, const char *, int, const char *, int)(a, from, b, to, flags);
}
int unlinkat(int at, const char *path, int flags) {
    if (fails("unlinkat", below(at, path))) return -1;
    return REAL(int, "unlinkat", int, const char *, int)(at, path, flags);
}
int mkdirat(int at, const char *path, mode_t mode) {
    if (fails("mkdirat", below(at, path))) return -1;
    return REAL(int, "mkdirat", int, const char *, mode_t)(at, path, mode);
}
int fchmod(int file, mode_t mode) {
    if (fails("fchmod", below(file, "."))) return -1;
    return REAL(int, "fchmod", int, mode_t)(file, mode);
}
int fchmodat(int at, const char *path, mode_t mode, int flags) {
    if (fails("fchmodat", below(at, path))) return -1;
    return REAL(int, "fchmodat", int, const char *, mode_t, int)(at, path, mode, flags);
}
int utimensat(int at, const char *path, const struct timespec times[2], int flags) {
    if (fails("utimensat", below(at, path))) return -1;
    return REAL(int, "utimensat", int, const char *, const struct timespec *, int)(at, path, times, flags);
}
int fsync(int file) {
    if (fails("fsync", below(file, "."))) return -1;
    return REAL(int, "fsync", int)(file);
}
int ftruncate64(int file, off64_t size) {
    if (fails("ftruncate", below(file, "."))) return -1;
    return REAL(int, "ftruncate64", int, off64_t)(file, size);
}
