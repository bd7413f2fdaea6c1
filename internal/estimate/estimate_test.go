package estimate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Values of Newcombe 1998 (Statistics in Medicine 17, table I), 95 %.
func TestIntervalsOfProportions(t *testing.T) {
	for _, c := range []struct {
		k, n                    int
		wilsonLow, wilsonHigh   float64
		clopperLow, clopperHigh float64
	}{
		{81, 263, 0.2553, 0.3662, 0.2527, 0.3676},
		{15, 148, 0.0624, 0.1605, 0.0578, 0.1617},
		{0, 20, 0.0000, 0.1611, 0.0000, 0.1684},
		{1, 29, 0.0061, 0.1718, 0.0009, 0.1776},
	} {
		low, high := Wilson(c.k, c.n, 0.95)
		near(t, "Wilson low", low, c.wilsonLow)
		near(t, "Wilson high", high, c.wilsonHigh)
		low, high = ClopperPearson(c.k, c.n, 0.95)
		near(t, "Clopper-Pearson low", low, c.clopperLow)
		near(t, "Clopper-Pearson high", high, c.clopperHigh)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.00006 {
		t.Errorf("%s %.5f, want %.4f", what, got, want)
	}
}

// binomial is the chance of k of n, by hand.
func binomial(n, k int, p float64) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
}

// An exact interval covers at least as often as it says, for every true value.
func TestClopperPearsonCovers(t *testing.T) {
	for _, n := range []int{1, 5, 40} {
		for p := 0.005; p < 1; p += 0.005 {
			covered := 0.0
			for k := range n + 1 {
				if low, high := ClopperPearson(k, n, 0.95); low <= p && p <= high {
					covered += binomial(n, k, p)
				}
			}
			if covered < 0.95 {
				t.Fatalf("n %d, p %.3f: covered in %.4f", n, p, covered)
			}
		}
	}
}

func TestQuantilesOfCounts(t *testing.T) {
	for _, n := range []int{0, 1, 7, 60} {
		for _, p := range []float64{0, 0.02, 0.5, 0.97, 1} {
			for _, q := range []float64{0.01, 0.45, 0.99} {
				want, sum := 0, 0.0
				for k := range n + 1 {
					if sum += binomial(n, k, p); sum >= q {
						want = k
						break
					}
				}
				if got := BinomialQuantile(n, p, q); got != want {
					t.Errorf("binomial n %d p %g q %g: %d, want %d", n, p, q, got, want)
				}
			}
		}
	}
	for _, mean := range []float64{0, 0.001, 0.7, 13, 400} {
		for _, q := range []float64{0.01, 0.5, 0.99} {
			k, term := 0, math.Exp(-mean)
			for sum := term; sum < q; sum += term {
				k++
				term *= mean / float64(k)
			}
			if got := PoissonQuantile(mean, q); got != k {
				t.Errorf("poisson mean %g q %g: %d, want %d", mean, q, got, k)
			}
		}
	}
}

// Against every outcome of up to twelve events.
func TestPoissonBinomialAgainstAllOutcomes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		chances := make([]float64, rng.IntN(13))
		for i := range chances {
			chances[i] = []float64{0, rng.Float64(), 1}[rng.IntN(3)]
		}
		mass := make([]float64, len(chances)+1)
		for outcome := range 1 << len(chances) {
			p, n := 1.0, 0
			for i, c := range chances {
				if outcome>>i&1 == 1 {
					p *= c
					n++
				} else {
					p *= 1 - c
				}
			}
			mass[n] += p
		}
		d := NewPoissonBinomial(chances)
		for _, q := range []float64{0.01, 0.3, 0.5, 0.99} {
			want, sum := 0, mass[0]
			for sum < q {
				want++
				sum += mass[want]
			}
			if got := d.Quantile(q); got != want {
				t.Fatalf("chances %v q %g: %d, want %d", chances, q, got, want)
			}
		}
	}
}

func TestPoissonBinomialOfMany(t *testing.T) {
	chances := make([]float64, 20_000)
	for i := range chances {
		chances[i] = 0.9
	}
	// Normal approximation: 18,000 ± 42.4; 1 % lies 2.326 of these below.
	if got := NewPoissonBinomial(chances).Quantile(0.01); got < 17_899 || got > 17_903 {
		t.Errorf("1 %% quantile %d, want about 17,901", got)
	}
}

// Seber 1982, page 60: 93 and 86 caught, 20 of them twice.
func TestChapmanOfATextbook(t *testing.T) {
	u, err := Chapman(73, 66, 20, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if want := 94.0*87/21 - 1 - 159; math.Abs(u.Best-want) > 1e-9 {
		t.Errorf("unseen %.3f, want %.3f", u.Best, want)
	}
	if u.Low <= 100 || u.Low >= u.Best || u.High <= u.Best || u.High >= 500 {
		t.Errorf("interval %.1f to %.1f", u.Low, u.High)
	}
}

func TestNothingCaughtTwiceIsNotEstimable(t *testing.T) {
	if _, err := Chapman(5, 9, 0, 0.95); err == nil {
		t.Error("Chapman estimated from no overlap")
	}
	if _, err := Chao([][]bool{{true, false, false}, {false, true, false}}, 0.95); err == nil {
		t.Error("Chao estimated from no overlap")
	}
}

// Simulated detectors of known chance: how often does the interval hold the truth?
func TestUnseenCoversTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rounds = 2000
	for _, c := range []struct {
		events int
		p1, p2 float64
	}{{30, 0.8, 0.6}, {155, 0.9, 0.5}, {155, 0.95, 0.95}, {400, 0.5, 0.4}} {
		held, estimated := 0, 0
		for range rounds {
			var only1, only2, both, unseen int
			for range c.events {
				switch a, b := rng.Float64() < c.p1, rng.Float64() < c.p2; {
				case a && b:
					both++
				case a:
					only1++
				case b:
					only2++
				default:
					unseen++
				}
			}
			u, err := Chapman(only1, only2, both, 0.95)
			if err != nil {
				continue
			}
			estimated++
			// The bounds are real numbers, the truth a count.
			if math.Floor(u.Low) <= float64(unseen) && float64(unseen) <= math.Ceil(u.High) {
				held++
			}
		}
		if share := float64(held) / float64(estimated); share < 0.93 {
			t.Errorf("%d events, chances %g and %g: the truth is inside in %.3f", c.events, c.p1, c.p2, share)
		}
	}
}

// Chao's bound stays below the truth on average where events differ, and near
// it where they do not.
func TestChaoIsALowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, hard := range map[string]float64{"alike": 0, "some are hard to catch": 0.3} {
		var bound, truth, high float64
		const rounds = 500
		for range rounds {
			var caught [][]bool
			unseen := 0
			for range 155 {
				scale := 1.0
				if rng.Float64() < hard {
					scale = 0.3
				}
				c := []bool{rng.Float64() < 0.7*scale, rng.Float64() < 0.5*scale, rng.Float64() < 0.4*scale}
				if c[0] || c[1] || c[2] {
					caught = append(caught, c)
				} else {
					unseen++
				}
			}
			u, err := Chao(caught, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			bound, truth, high = bound+u.Best/rounds, truth+float64(unseen)/rounds, high+u.High/rounds
			if u.Low > u.Best || u.Best > u.High {
				t.Fatalf("%.2f – %.2f – %.2f is no interval", u.Low, u.Best, u.High)
			}
		}
		t.Logf("%s: bound %.1f (to %.1f), truth %.1f", name, bound, high, truth)
		if bound > truth*1.05 || bound < truth*0.5 {
			t.Errorf("%s: bound %.1f, truth %.1f", name, bound, truth)
		}
	}
}

func TestChaoOfNoSingles(t *testing.T) {
	u, err := Chao([][]bool{{true, true, false}, {true, true, true}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if u.Best != 0 || u.High <= 0 {
		t.Errorf("%+v: nothing caught just once is no proof that nothing was missed", u)
	}
}
