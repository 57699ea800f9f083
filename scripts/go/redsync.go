// A user of redsync, for tests and benchmarks: redsync PORTS NAME once | count FILE TIMES | pairs SECONDS | race SECONDS TASKS
//
// `once` asks once: it prints "taken" and holds the lock until its input ends, or ends with 1. `count` adds 1 to the number
// in a file so many times, each under the lock. `pairs` prints how often a second it has acquired and released names of its
// own. `race` takes the lock again and again in several tasks, once it is told to, and prints what the benchmark `race` of
// cotter prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"syscall"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"
)

const ttl = 5 * time.Second

func main() {
	ports, name, what := os.Args[1], os.Args[2], os.Args[3]
	var pools []redis.Pool
	for _, port := range strings.Split(ports, ",") {
		pools = append(pools, goredis.NewPool(goredis9.NewClient(&goredis9.Options{Addr: "127.0.0.1:" + port})))
	}
	locks := redsync.New(pools...)
	switch what {
	case "once":
		once(locks, name)
	case "count":
		count(locks, name, os.Args[4], number(os.Args[5]))
	case "pairs":
		pairs(locks, name, seconds(os.Args[4]))
	case "race":
		race(locks, name, seconds(os.Args[4]), number(os.Args[5]))
	default:
		fail(fmt.Errorf("unknown: %s", what))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	fail(err)
	return n
}

func seconds(text string) time.Duration {
	return time.Duration(number(text)) * time.Second
}

func isBusy(err error) bool {
	var taken *redsync.ErrTaken
	return errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed)
}

// Whether it is freed: a server that is down cannot say so.
func release(lock *redsync.Mutex) {
	freed, err := lock.UnlockContext(context.Background())
	if !freed {
		fail(fmt.Errorf("it was not held any more: %w", err))
	}
}

func once(locks *redsync.Redsync, name string) {
	lock := locks.NewMutex(name, redsync.WithExpiry(ttl))
	if err := lock.TryLock(); err != nil {
		if isBusy(err) {
			os.Exit(1)
		}
		fail(err)
	}
	fmt.Println("taken")
	_, _ = io.Copy(io.Discard, os.Stdin)
	release(lock)
}

// As often as it takes, with pauses of up to 30 ms.
func patient(locks *redsync.Redsync, name string) *redsync.Mutex {
	pause := func(int) time.Duration { return time.Duration(rand.Intn(30)) * time.Millisecond }
	lock := locks.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(10_000), redsync.WithRetryDelayFunc(pause))
	fail(lock.Lock())
	return lock
}

func count(locks *redsync.Redsync, name, file string, times int) {
	go func() {
		// Its parent is gone.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	for i := 0; i < times; i++ {
		lock := patient(locks, name)
		text, err := os.ReadFile(file)
		fail(err)
		time.Sleep(time.Millisecond)
		fail(os.WriteFile(file, []byte(strconv.Itoa(number(string(text))+1)), 0o600))
		release(lock)
	}
}

func pairs(locks *redsync.Redsync, name string, length time.Duration) {
	pair := func(i int) {
		lock := locks.NewMutex(fmt.Sprintf("%s %d", name, i))
		fail(lock.Lock())
		release(lock)
	}
	pair(-1)
	begin, done := time.Now(), 0
	for time.Since(begin) < length {
		pair(done)
		done++
	}
	fmt.Println(float64(done) / time.Since(begin).Seconds())
}

// A clock that all processes share.
func nanos() int64 {
	var at syscall.Timespec
	const monotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

type run struct {
	start, end  int64
	first, last int
}

func race(locks *redsync.Redsync, name string, length time.Duration, tasks int) {
	const between = 30_000
	var (
		state           sync.Mutex
		all             sync.WaitGroup
		runs            []run
		held, handovers int
		worst           time.Duration
	)
	hold := func(task int) {
		since := nanos()
		state.Lock()
		defer state.Unlock()
		held++
		if n := len(runs); n > 0 && since-runs[n-1].end < between {
			last := &runs[n-1]
			if last.last != task {
				handovers++
			}
			last.end, last.last = nanos(), task
			return
		}
		runs = append(runs, run{since, nanos(), task, task})
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	begin := time.Now()
	for task := 0; task < tasks; task++ {
		all.Add(1)
		go func(task int) {
			defer all.Done()
			for time.Since(begin) < length {
				asked := time.Now()
				// Its own pauses.
				lock := locks.NewMutex(name, redsync.WithTries(10_000))
				fail(lock.Lock())
				hold(task)
				release(lock)
				state.Lock()
				if waited := time.Since(asked); waited > worst {
					worst = waited
				}
				state.Unlock()
			}
		}(task)
	}
	all.Wait()
	fmt.Println(held, handovers, worst.Microseconds())
	for _, run := range runs {
		fmt.Println(run.start, run.end, run.first, run.last)
	}
}
