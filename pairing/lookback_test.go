package pairing

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// longHistory draws requests that reserve a pool of 400 pages about 14 times,
// the last of them a placeholder.
func longHistory(rng *rand.Rand) (rank, []job, []act) {
	k := rank{policy: Sweep, pages: 400, pageSize: 16, before: nobody}
	var jobs []job
	var acts []act
	now := micros(0)
	for reserved := 0; reserved < 14*k.pages*k.pageSize; {
		j := job{prompt: int32(1 + rng.IntN(40*k.pageSize)), answer: int32(1 + rng.IntN(60))}
		now += micros(1 + rng.IntN(1000))
		first := now + micros(1+rng.IntN(300))
		a := act{job: int32(len(jobs)), reserve: now, first: first, end: first + micros(2+rng.IntN(4000)), lateAt: never, offloadAt: never}
		reserved += int(j.prompt)
		jobs, acts = append(jobs, j), append(acts, a)
	}
	now += 5000
	jobs = append(jobs, job{prompt: int32(150 * k.pageSize), answer: 1, placeholder: true})
	acts = append(acts, act{job: int32(len(jobs) - 1), reserve: now, first: now + 10, end: now + 20, lateAt: never, offloadAt: never})
	return k, jobs, acts
}

// lastReads gives what the last act attends to, by owner. Acts that
// ended before act skip began are left out, as pairing does, and the history then
// begins in a sweep that has handed out some pages.
func lastReads(r *replay, k rank, jobs []job, acts []act, skip, handedOut int) *tally {
	if skip > 0 {
		k.before, k.handedOut = before, handedOut
	}
	since := acts[skip].reserve
	held := slices.DeleteFunc(slices.Clone(acts), func(a act) bool { return a.end < since })
	o := &ordering{jobs: jobs, acts: held, rows: make([]int32, len(jobs))}
	for i := range o.rows {
		o.rows[i] = int32(i)
	}
	last := int32(len(jobs) - 1)
	t := &tally{rows: map[int32]*found{}}
	w := &window{rows: make([]row, len(jobs)), boot: boot{pageSize: k.pageSize}}
	r.reset(k, jobs, o.acts, &collector{o: o, w: w, tallies: map[int32]*tally{last: t}, reads: map[int32]*read{}, lost: map[owner]bool{}})
	r.run(never-1, nil)
	return t
}

// How far a window reaches back is enough when what the suspect reads does not
// depend on the state in which the window begins: then it reads what it would
// after the whole history. That is the bound by which pairing works. Probes may
// all miss a state on which it does depend; that must be rare, and what is left
// shows in the probabilities, as every ordering draws a state of its own.
func TestWindowThatForgetsItsStartIsLongEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var r replay
	forgot, wrong := 0, 0
	const histories = 1000
	for range histories {
		k, jobs, acts := longHistory(rng)
		whole := lastReads(&r, k, jobs, acts, 0, 0)
		skip := len(acts) * (2 + rng.IntN(9)) / 14 // between 12 and 4 pools' worth remain
		first := lastReads(&r, k, jobs, acts, skip, 0)
		depends := 0.0
		for range probes {
			depends = max(depends, first.unlike(lastReads(&r, k, jobs, acts, skip, rng.IntN(k.pages))))
		}
		if depends > doubt {
			continue
		}
		forgot++
		if first.unlike(whole) > 0.01 {
			wrong++
		}
	}
	if forgot < histories/4 || wrong*50 > forgot {
		t.Errorf("%d of %d windows forgot their start; %d of them read others than after the whole history", forgot, histories, wrong)
	}
}
