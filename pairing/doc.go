// Package pairing tells whose data a suspect may have read. It replays the page
// allocator of each decode node and rank over the logged requests and reads
// off the former owners of the pages that the suspect reserved and did not
// write (shared notes: domain, "The page allocator"; method, step 2).
//
// What logs leave open is sampled: each ordering draws reservation times,
// requests without a node and requests that the log lost, replays them, and
// the share of orderings in which a pair occurs is its probability. The
// engines' own figures (#token of decode batches) hold the draws to what the
// node measured.
package pairing
