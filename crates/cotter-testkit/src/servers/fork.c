/* Loaded in front of other libraries: safe code can fork through a call that it may make. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

pid_t getppid(void) {
    /* The children of this thread are in a pid namespace of their own: the first of them is process 1 there. */
    if (getenv("COTTER_TEST_FORK_APART") && unshare(CLONE_NEWPID) != 0) return -1;
    return fork();
}
