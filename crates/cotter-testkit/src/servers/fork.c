/* Loaded in front of other libraries: safe code can fork through a call that it may make. */
#include <unistd.h>

pid_t getppid(void) { return fork(); }
