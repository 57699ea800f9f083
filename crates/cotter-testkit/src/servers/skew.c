/* Loaded into a server before its own libraries: the time of day, moved by the nanoseconds that stand in the eight bytes
   of the file SKEW_FILE. The monotonic clocks stay as they are, as they do when an administrator steps the clock. */

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none;
static volatile int64_t *skew = &none;

__attribute__((constructor)) static void open_skew(void) {
  const char *path = getenv("SKEW_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *bytes = file < 0 ? MAP_FAILED : mmap(0, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  if (bytes != MAP_FAILED) skew = bytes;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  int failed = syscall(SYS_clock_gettime, clock, at);
  if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  int64_t nanos = at->tv_sec * INT64_C(1000000000) + at->tv_nsec + *skew;
  at->tv_sec = nanos / 1000000000;
  at->tv_nsec = nanos % 1000000000;
  return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
