package pairing

// The heap of events, the earliest on top.

func (r *replay) push(e event) {
	r.events = append(r.events, e)
	i := len(r.events) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(r.events[parent]) {
			break
		}
		r.events[i] = r.events[parent]
		i = parent
	}
	r.events[i] = e
}

func (r *replay) pop() {
	last := len(r.events) - 1
	e := r.events[last]
	r.events = r.events[:last]
	if last > 0 {
		r.replaceTop(e)
	}
}

// replaceTop puts e in the place of the earliest event.
func (r *replay) replaceTop(e event) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(r.events) {
			break
		}
		if child+1 < len(r.events) && r.events[child+1].before(r.events[child]) {
			child++
		}
		if !r.events[child].before(e) {
			break
		}
		r.events[i] = r.events[child]
		i = child
	}
	r.events[i] = e
}
