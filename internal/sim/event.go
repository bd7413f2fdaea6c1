package sim

// micros is simulated time since 1970-01-01T00:00:00Z in microseconds.
type micros = int64

const (
	millisecond micros = 1000
	second      micros = 1000 * millisecond
	minute      micros = 60 * second
	hour        micros = 60 * minute
	day         micros = 24 * hour
)

// event is something that happens at an instant. Events of the same instant
// happen in the order in which they were scheduled.
type event struct {
	at    micros
	order uint64
	do    func(now micros)
}

func (e event) Less(f event) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// queue is a binary heap; pop gives the least item.
type queue[T interface{ Less(T) bool }] struct{ items []T }

func (q *queue[T]) push(x T) {
	q.items = append(q.items, x)
	i := len(q.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.Less(q.items[parent]) {
			break
		}
		q.items[i] = q.items[parent]
		i = parent
	}
	q.items[i] = x
}

func (q *queue[T]) pop() T {
	top := q.items[0]
	last := len(q.items) - 1
	x := q.items[last]
	var zero T
	q.items[last] = zero
	q.items = q.items[:last]
	if last > 0 {
		q.sink(x)
	}
	return top
}

// sink puts x, in place of the top, where it belongs.
func (q *queue[T]) sink(x T) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q.items) {
			break
		}
		if child+1 < len(q.items) && q.items[child+1].Less(q.items[child]) {
			child++
		}
		if !q.items[child].Less(x) {
			break
		}
		q.items[i] = q.items[child]
		i = child
	}
	q.items[i] = x
}
