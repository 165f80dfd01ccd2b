// Command load sends requests to a "loci serve" of its own at rates that it does not slow
// down for (an open loop), and prints what became of them as a table for
// docs/benchmarks.md. All figures of a table come from one run. Several programs are measured in
// turn. The requests take processor time, too: what they take from the server makes it slower
// than it is, and answers look late that only were read late. On Linux
//
//	taskset -c 1 go run ./tests/load -cores 0 -binary old/loci,bin/loci -rounds 3
//
// keeps the two apart: the server has core 0 for itself. Each tenant's requests have a key of it, as
// callers of a server have.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	binaries := flag.String("binary", "bin/loci", "the programs to measure, with commas between them")
	cores := flag.String("cores", "", "the cores that the server may use, as taskset names them; \"\": those of the clients")
	rounds := flag.Int("rounds", 1, "how often each program is measured, in turn")
	each := flag.Duration("time", 4*time.Second, "how long each load is sent at a time")
	cycles := flag.Int("cycles", 5, "how often the loads of a table are sent in turn; each figure is the middle one")
	notes := flag.Int("notes", 2000, "notes of each tenant")
	cold := flag.Int("cold", 20000, "notes of a namespace whose index is loaded again and again")
	only := flag.String("only", "REST,MCP,fairness", "the parts to measure")
	flag.Parse()
	if *cycles < 1 || *each <= 0 {
		fmt.Fprintf(os.Stderr, "load: -cycles is %d and -time is %v; both must be more than 0\n", *cycles, *each)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	for round := 1; round <= *rounds && err == nil; round++ {
		for _, binary := range strings.Split(*binaries, ",") {
			if *rounds > 1 || strings.Contains(*binaries, ",") {
				fmt.Printf("%s, round %d\n\n", binary, round)
			}
			if err = run(ctx, binary, *cores, *only, *each, *cycles, *notes, *cold); err != nil {
				break
			}
			fmt.Println()
		}
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// everybody is the tenant that asks when nobody asks beside it.
const everybody = "everybody"

// tenants ask beside one another; the first is the one that asks for more than its share.
var tenants = []string{"heavy", "one", "two", "three"}

func run(ctx context.Context, binary, cores, only string, each time.Duration, cycles, notes, cold int) error {
	s, err := start(ctx, binary, cores)
	if err != nil {
		return err
	}
	defer func() {
		s.stop()
		_ = os.RemoveAll(s.dir)
	}()
	for _, t := range append([]string{everybody}, tenants...) {
		if err := s.fill(ctx, t, "somebody", notes); err != nil {
			return err
		}
	}
	where := fmt.Sprintf("%d cores shared by server and clients", runtime.NumCPU())
	if cores != "" {
		where = fmt.Sprintf("the server on core %s, the clients on %d of their own", cores, runtime.NumCPU())
	}
	fmt.Printf("%s/%s, %s, %s; mixed: 3 searches to 1 save, %d notes a tenant\n\n",
		runtime.GOOS, runtime.GOARCH, where, runtime.Version(), notes)
	fmt.Println("| surface | load | asked a second | answered | of 100 % | p50 | p99 | of 80 % | refused | failed | processor time an answer |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
	for _, surface := range []string{"REST", "MCP"} {
		if strings.Contains(only, surface) {
			s.overload(ctx, surface, each, cycles)
		}
	}
	if !strings.Contains(only, "fairness") {
		return ctx.Err()
	}
	return s.fairness(ctx, each, cycles, cold)
}

// overload prints what becomes of more and more requests. The loads are sent in turn several
// times, as the machine answers more at one moment than at another.
func (s *server) overload(ctx context.Context, surface string, each time.Duration, cycles int) {
	w := work{surface: surface, tenants: []string{everybody}}
	// The peak is what is answered at any rate, not what clients that wait reach.
	estimate, peak := s.closed(ctx, w, each), 0.0
	for _, part := range []float64{0.7, 0.9, 1.1} {
		peak = max(peak, s.open(ctx, w, estimate*part, each).goodput())
	}
	loads := []float64{0.8, 1, 2, 4}
	results := make([][]result, len(loads))
	for range cycles {
		for i, load := range loads {
			results[i] = append(results[i], s.open(ctx, w, peak*load, each))
		}
	}
	for i, load := range loads {
		figure := func(of func(cycle int, r result) float64) float64 {
			return middle(cycles, func(cycle int) float64 { return of(cycle, results[i][cycle]) })
		}
		p99 := func(_ int, r result) float64 { return float64(r.at(0.99)) }
		failed := 0
		for _, r := range results[i] {
			failed += r.failed
		}
		fmt.Printf("| %s | %.0f %% | %.0f | %.0f | %.0f %% | %v | %v | %.1f | %.1f %% | %d | %v |\n", surface, 100*load,
			figure(func(_ int, r result) float64 { return r.asked() }),
			figure(func(_ int, r result) float64 { return r.goodput() }),
			100*figure(func(cycle int, r result) float64 { return r.goodput() / max(1, results[1][cycle].goodput()) }),
			time.Duration(figure(func(_ int, r result) float64 { return float64(r.at(0.5)) })),
			time.Duration(figure(p99)),
			figure(func(cycle int, r result) float64 { return p99(cycle, r) / max(1, p99(cycle, results[0][cycle])) }),
			100*figure(func(_ int, r result) float64 { return r.refused() }), failed,
			time.Duration(figure(func(_ int, r result) float64 { return float64(r.cost()) })))
	}
}

// fairness measures what others feel of a tenant that asks for ten times its share, and of
// one that makes the server load large indexes. The loads of a table are sent in turn several
// times, and each is compared with its share before it, at the rate that the machine had a
// moment earlier: a share of what it could do at another time is another load.
func (s *server) fairness(ctx context.Context, each time.Duration, cycles, cold int) error {
	others := work{surface: "REST", tenants: tenants[1:]}
	heavy := work{surface: "REST", tenants: tenants[:1]}
	beside := func(share float64, do func(context.Context, float64)) result {
		around, end := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); do(around, share) }()
		time.Sleep(each / 5)
		r := s.open(ctx, others, 0.5*share*float64(len(others.tenants)), each)
		end()
		<-done
		return r
	}
	its := func(ctx context.Context, share float64) { s.open(ctx, heavy, share, time.Hour) }
	shareNow := func() float64 {
		return middle(3, func(int) float64 { return s.closed(ctx, work{surface: "REST", tenants: tenants}, each/4) }) /
			float64(len(tenants))
	}
	fmt.Println("\n| the other tenants at half their share, beside one that asks | answered a second | p50 | p99 | against its share | refused |")
	fmt.Println("|---|---|---|---|---|---|")
	compare := func(what string, do func(context.Context, float64)) {
		var calm, crowded []result
		for range cycles {
			share := shareNow()
			calm, crowded = append(calm, beside(share, its)), append(crowded, beside(share, do))
		}
		for _, row := range []struct {
			what string
			all  []result
		}{{"for its share", calm}, {what, crowded}} {
			fmt.Printf("| %s | %.0f | %v | %v | %.2f | %.1f %% |\n", row.what,
				middle(cycles, func(i int) float64 { return row.all[i].goodput() }),
				time.Duration(middle(cycles, func(i int) float64 { return float64(row.all[i].at(0.5)) })),
				time.Duration(middle(cycles, func(i int) float64 { return float64(row.all[i].at(0.99)) })),
				middle(cycles, func(i int) float64 { return float64(row.all[i].at(0.99)) / float64(calm[i].at(0.99)) }),
				middle(cycles, func(i int) float64 { return 100 * row.all[i].refused() }))
		}
	}
	compare("for its share, once more", its) // how far two equal loads are apart
	compare("for ten times its share", func(ctx context.Context, share float64) { s.open(ctx, heavy, 10*share, time.Hour) })
	for n := range 4 {
		if err := s.bring(ctx, tenants[0], fmt.Sprint("cold", n), cold); err != nil {
			return err
		}
	}
	s.stop()
	if err := s.again(ctx, 64<<20); err != nil { // so little that each search has to load
		return err
	}
	beside(shareNow(), its) // the others' own indexes are loaded
	compare("for its share, and for indexes that are loaded each time", func(ctx context.Context, share float64) {
		go s.cold(ctx, tenants[0], 4)
		s.open(ctx, heavy, share/2, time.Hour)
	})
	return ctx.Err()
}

// middle is the median of a figure of some cycles.
func middle(cycles int, of func(i int) float64) float64 {
	all := make([]float64, cycles)
	for i := range all {
		all[i] = of(i)
	}
	slices.Sort(all)
	return all[cycles/2]
}
