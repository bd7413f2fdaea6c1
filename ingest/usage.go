package ingest

import "kvforensics/internal/evidence"

// usage is the answer's usage object, from which a gateway may copy token
// counts unchanged:
//
//	{"prompt_tokens": n, "completion_tokens": n, "total_tokens": n,
//	 "prompt_tokens_details": {"cached_tokens": n}}
type usage struct {
	raw                        []byte
	prompt, completion, cached evidence.Opt[int64]
}

// read reports whether the object holds nothing but those counts. If not, it
// is kept in extra as it stands and no count is taken from it.
func (u *usage) read() bool {
	return u.object(u.raw, func(key string, value []byte) bool {
		switch key {
		case "prompt_tokens":
			return u.count(&u.prompt, value)
		case "completion_tokens":
			return u.count(&u.completion, value)
		case "total_tokens":
			return u.count(&evidence.Opt[int64]{}, value)
		case "prompt_tokens_details":
			return u.object(value, func(key string, value []byte) bool {
				return key == "cached_tokens" && u.count(&u.cached, value)
			})
		}
		return false
	})
}

// object calls member for each member of a JSON object that was already found
// to be well formed.
func (u *usage) object(raw []byte, member func(key string, value []byte) bool) bool {
	s := jsonScanner{text: raw}
	if s.peek() != '{' {
		return false
	}
	s.pos++
	if s.peek() == '}' {
		return true
	}
	for {
		key, _, err := s.str()
		if err != nil || s.expect(':') != nil {
			return false
		}
		s.space()
		value, err := s.skip(0)
		if err != nil || !member(string(key), value) {
			return false
		}
		if more, err := s.next('}'); err != nil || !more {
			return err == nil
		}
	}
}

func (u *usage) count(to *evidence.Opt[int64], value []byte) bool {
	if to.Known || string(value) == "null" {
		return !to.Known
	}
	n, err := whole(alias(value))
	*to = n
	return err == nil
}

// fill gives r the counts that its own fields did not state, and reports
// whether none of them contradicts.
func (u *usage) fill(r *evidence.Request) bool {
	agree := true
	for _, pair := range [3]struct{ to, from *evidence.Opt[int64] }{
		{&r.PromptTokens, &u.prompt}, {&r.CompletionTokens, &u.completion}, {&r.CachedTokens, &u.cached},
	} {
		switch {
		case !pair.from.Known:
		case !pair.to.Known:
			*pair.to = *pair.from
		case pair.to.V != pair.from.V:
			agree = false
		}
	}
	return agree
}
