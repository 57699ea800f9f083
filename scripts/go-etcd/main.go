// The locks of etcd's package "concurrency", line by line.
//
//	KIND HOW NAME           a lock ("mutex") that is tried, waited for or released: "held", "busy" or "free"
//	pairs THREADS MILLIS    acquisitions per second, each thread with a name of its own, all with one session
//	contended N MILLIS      the same of one name, each of the N with a session of its own
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const ttl = 20

var endpoint = os.Args[1]

func connect() *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second})
	check(err)
	return client
}

func session(client *clientv3.Client) *concurrency.Session {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	check(err)
	return session
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// race lets each of these mutexes be taken again and again by a thread of its own.
func race(mutexes []*concurrency.Mutex, millis int) float64 {
	var done int64
	var running sync.WaitGroup
	start := time.Now()
	end := start.Add(time.Duration(millis) * time.Millisecond)
	for _, mutex := range mutexes {
		running.Add(1)
		go func(mutex *concurrency.Mutex) {
			defer running.Done()
			for time.Now().Before(end) {
				check(mutex.Lock(context.Background()))
				check(mutex.Unlock(context.Background()))
				atomic.AddInt64(&done, 1)
			}
		}(mutex)
	}
	running.Wait()
	return float64(done) / time.Since(start).Seconds()
}

func main() {
	shared := session(connect())
	var own []*concurrency.Session
	locks := map[string]*concurrency.Mutex{}
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		order := strings.Fields(orders.Text())
		switch order[0] {
		case "pairs", "contended":
			threads, err := strconv.Atoi(order[1])
			check(err)
			millis, err := strconv.Atoi(order[2])
			check(err)
			var mutexes []*concurrency.Mutex
			for n := 0; n < threads; n++ {
				if order[0] == "pairs" {
					mutexes = append(mutexes, concurrency.NewMutex(shared, fmt.Sprintf("go-%d", n)))
					continue
				}
				if n == len(own) {
					own = append(own, session(connect()))
				}
				mutexes = append(mutexes, concurrency.NewMutex(own[n], "go-contended"))
			}
			fmt.Println(race(mutexes, millis))
			continue
		}
		lock := locks[order[2]]
		if lock == nil {
			lock = concurrency.NewMutex(shared, order[2])
			locks[order[2]] = lock
		}
		switch order[1] {
		case "release":
			check(lock.Unlock(context.Background()))
			fmt.Println("free")
		case "wait":
			check(lock.Lock(context.Background()))
			fmt.Println("held")
		default:
			err := lock.TryLock(context.Background())
			if errors.Is(err, concurrency.ErrLocked) {
				fmt.Println("busy")
				continue
			}
			check(err)
			fmt.Println("held")
		}
	}
}
