package sim

import "container/list"

// prefix is the cached KV of a session's prompts on one prefill rank: whole
// pages only.
type prefix struct {
	session uint64
	pages   []run
	tokens  int
	locks   int // requests that use it
	place   *list.Element
}

// prefixCache stands for the engine's radix cache, with a session where that
// has a branch of the tree.
type prefixCache struct {
	sessions  map[uint64]*prefix
	used      *list.List // latest first
	evictable int        // pages of unlocked prefixes
}

func newPrefixCache() prefixCache {
	return prefixCache{sessions: map[uint64]*prefix{}, used: list.New()}
}

// clear forgets everything; the allocator is reset with it.
func (c *prefixCache) clear() { *c = newPrefixCache() }

// match finds the session's prefix and how many of the first `shared` tokens
// it has.
func (c *prefixCache) match(session uint64, shared int) (*prefix, int) {
	e := c.sessions[session]
	if e == nil {
		return nil, 0
	}
	return e, min(e.tokens, shared)
}

// lock keeps e from eviction; a nil e is nothing.
func (c *prefixCache) lock(e *prefix) {
	if e == nil {
		return
	}
	if e.locks == 0 {
		c.evictable -= countPages(e.pages)
	}
	e.locks++
	c.used.MoveToFront(e.place)
}

func (c *prefixCache) unlock(e *prefix) {
	if e == nil {
		return
	}
	if e.locks--; e.locks == 0 {
		c.evictable += countPages(e.pages)
	}
}

// evict drops the prefix used longest ago and gives its pages, or nil if all
// are in use.
func (c *prefixCache) evict() []run {
	for at := c.used.Back(); at != nil; at = at.Prev() {
		e := at.Value.(*prefix)
		if e.locks > 0 {
			continue
		}
		c.used.Remove(at)
		delete(c.sessions, e.session)
		c.evictable -= countPages(e.pages)
		return e.pages
	}
	return nil
}

// insert keeps the whole pages of a computed prompt and gives back the rest.
// Of two requests that computed the same continuation the first is kept.
func (c *prefixCache) insert(r *request, pageSize int) (rest []run) {
	whole := (r.promptOn() - r.cached) / pageSize
	if whole == 0 || r.session == 0 {
		return r.ownPages
	}
	e := r.entry
	if e == nil {
		if c.sessions[r.session] != nil {
			return r.ownPages
		}
		keep, rest := split(r.ownPages, whole)
		e = &prefix{session: r.session, pages: keep, tokens: whole * pageSize}
		e.place = c.used.PushFront(e)
		c.sessions[r.session] = e
		c.evictable += whole
		return rest
	}
	if e.tokens != r.cached {
		return r.ownPages
	}
	keep, rest := split(r.ownPages, whole)
	for _, k := range keep {
		e.pages = appendRun(e.pages, k)
	}
	e.tokens += whole * pageSize
	return rest
}
