package sglang

import "bytes"

// bar gives the length of a tqdm bar that is glued in front of a record, 0
// when b is something else. Only a bar may stand before a record, and only at
// the start of a line: a text elsewhere that looks like one is no prefix.
func (r *row) bar(b []byte, c *clock) int {
	n := barEnd(b)
	if n == 0 || n >= len(b) || b[n] != '[' {
		return 0
	}
	if _, ok := c.stampAt(b[n+1:]); !ok {
		return 0
	}
	return n
}

const (
	barHead = 300  // bytes before the percentage
	barTail = 2000 // bytes after it; block characters take three each
)

// barEnd gives the length of the bar that b starts with:
// "Capturing batches (bs=8):  12%|█▎        | 1/8 [00:00<00:02,  2.37it/s]".
func barEnd(b []byte) int {
	head := b[:min(len(b), barHead)]
	percent := bytes.IndexByte(head, '%')
	if percent < 1 || !isDigit(head[percent-1]) || bytes.ContainsAny(head[:percent], `'"{[`) ||
		bytes.HasPrefix(head, []byte("Receive")) || bytes.HasPrefix(head, []byte("Finish")) {
		return 0
	}
	tail := b[percent+1 : min(len(b), percent+barTail)]
	if !bytes.HasPrefix(tail, []byte("|")) && !bytes.HasPrefix(tail, []byte(" Completed |")) {
		return 0
	}
	open := bytes.IndexByte(tail, '[')
	if open < 0 || bytes.ContainsAny(tail[:open], `'"`) {
		return 0
	}
	rate := tail[open+1:]
	end := bytes.IndexByte(rate, ']')
	if end < 0 || bytes.IndexByte(rate[:end], '<') < 0 || bytes.ContainsAny(rate[:end], `'"#`) {
		return 0
	}
	for _, unit := range []string{"it/s", "s/it", "B/s"} {
		if bytes.Contains(rate[:end], []byte(unit)) {
			return percent + 1 + open + 1 + end + 1
		}
	}
	return 0
}

// afterBars gives what follows the last carriage return of a line in which
// nothing but progress bars stands before it; else the line as it is.
func afterBars(b []byte) []byte {
	last := bytes.LastIndexByte(b, '\r')
	if last < 0 {
		return b
	}
	for segment := range bytes.SplitSeq(b[:last], []byte{'\r'}) {
		segment = trimBlanks(segment)
		if n := barEnd(segment); n != len(segment) {
			return b
		}
	}
	return b[last+1:]
}

// uncolour takes terminal colours off a line: ESC[1;36m, and #033[1;36m as
// rsyslog writes it.
func (p *Parser) uncolour(b []byte) []byte {
	if bytes.IndexByte(b, 0x1b) < 0 && !bytes.Contains(b, []byte("#033[")) {
		return b
	}
	out := p.plain[:0]
	for i := 0; i < len(b); {
		start := i
		switch {
		case b[i] == 0x1b && i+1 < len(b) && b[i+1] == '[':
			i += 2
		case b[i] == '#' && bytes.HasPrefix(b[i:], []byte("#033[")):
			i += 5
		default:
			out = append(out, b[i])
			i++
			continue
		}
		i += span(b[i:], func(c byte) bool { return isDigit(c) || c == ';' || c == '?' })
		if i < len(b) && (isUpper(b[i]) || b[i] >= 'a' && b[i] <= 'z') {
			i++
			continue
		}
		out = append(out, b[start:i]...)
	}
	p.plain = out
	return out
}
