package sim

import "encoding/hex"

// Salts keep identifiers of different uses apart.
const (
	saltRequest uint64 = iota + 1
	saltRequestLow
	saltRoom
	saltHome
	saltPrefillRID
	saltDecodeRID
	saltLostHour
	saltPort
)

// mix hashes x (splitmix64's finaliser over the seed and a salt).
func mix(seed, x, salt uint64) uint64 {
	z := seed*0x9e3779b97f4a7c15 + x*0xbf58476d1ce4e5b9 + salt*0x94d049bb133111eb
	for range 2 {
		z ^= z >> 30
		z *= 0xbf58476d1ce4e5b9
		z ^= z >> 27
		z *= 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z
}

func appendHex(b []byte, hi, lo uint64) []byte {
	var raw [16]byte
	for i := range 8 {
		raw[i], raw[8+i] = byte(hi>>(56-8*i)), byte(lo>>(56-8*i))
	}
	return hex.AppendEncode(b, raw[:])
}

// appendRequestID writes the gateway's id of a request.
func (c *cluster) appendRequestID(b []byte, number uint64) []byte {
	return appendHex(b, mix(c.cfg.Seed, number, saltRequest), mix(c.cfg.Seed, number, saltRequestLow))
}

func (c *cluster) requestID(number uint64) string { return string(c.appendRequestID(nil, number)) }

// appendRID writes the id by which an engine knows the request: its own, or
// the gateway's.
func (c *cluster) appendRID(b []byte, r *request, salt uint64) []byte {
	if r.kind == probe {
		return appendHex(append(b, "HEALTH_CHECK_"...), 0, r.number)
	}
	if c.cfg.Engine.SharedRID {
		return c.appendRequestID(b, r.number)
	}
	return appendHex(b, mix(c.cfg.Seed, r.number, salt), mix(c.cfg.Seed, r.number, salt<<32))
}
