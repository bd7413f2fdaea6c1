package ingest

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
)

// parser makes rows of blocks. A parser that is not parallel is fed blocks in
// their order by one goroutine.
type parser interface {
	parallel() bool
	parse(b *block, out *batch) error
	close(out *batch) error // what is still pending at the end
}

type job struct {
	buffer []byte
	block  *block
	out    batch
	stored chan struct{}
}

// pump reads blocks, parses and stores several at once where the parser allows,
// each over a lane of its own, and accounts for them in the order of the
// content. Memory is bounded by the number of jobs.
func pump(ctx context.Context, reader *blockReader, p parser, lanes int, store func(lane int, out *batch) error, account func(*block, *batch)) error {
	if !p.parallel() {
		lanes = 1
	}
	group, ctx := errgroup.WithContext(ctx)
	free, todo, ordered := make(chan *job, lanes+2), make(chan *job, lanes+2), make(chan *job, lanes+2)
	for range lanes + 2 {
		free <- &job{stored: make(chan struct{}, 1)}
	}
	group.Go(func() error {
		defer close(todo)
		defer close(ordered)
		return cut(ctx, reader, free, todo, ordered)
	})
	for lane := range lanes {
		group.Go(func() error { return work(p, lane, todo, store) })
	}
	last := &block{}
	group.Go(func() error {
		for j := range ordered {
			<-j.stored
			account(j.block, &j.out)
			last.firstLine = j.block.firstLine
			free <- j
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	var rest batch
	if err := p.close(&rest); err != nil {
		return err
	}
	account(last, &rest)
	return store(0, &rest)
}

// work goes on to take jobs after an error, so that nobody waits for it.
func work(p parser, lane int, todo chan *job, store func(lane int, out *batch) error) error {
	var first error
	for j := range todo {
		if first == nil {
			first = parse(p, j)
		}
		if first == nil {
			first = store(lane, &j.out)
		}
		j.stored <- struct{}{}
	}
	return first
}

func cut(ctx context.Context, reader *blockReader, free, todo, ordered chan *job) error {
	for {
		if ctx.Err() != nil { // select would choose between two ready cases at random
			return context.Cause(ctx)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case j := <-free:
			b, err := reader.next(j.buffer)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			j.block, j.buffer = b, b.data
			j.out.reset()
			todo <- j
			ordered <- j
		}
	}
}

func parse(p parser, j *job) error {
	if j.block.unreadable(&j.out) {
		return nil
	}
	return p.parse(j.block, &j.out)
}
