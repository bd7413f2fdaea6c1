package sim

import (
	"testing"
	"runtime"
	"runtime/pprof"
	"time"
	"os"
)

func TestDefault(t *testing.T) {
	f,_ := os.Create("/tmp/cpu.prof")
	pprof.StartCPUProfile(f)
	t0:=time.Now()
	s, err := Write(t.Context(), "/tmp/sim-def", Default(1))
	pprof.StopCPUProfile()
	t.Logf("%v %+v %v", time.Since(t0), s.Totals, err)
	if err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Log(m.Sys>>20, m.TotalAlloc>>20)
}
