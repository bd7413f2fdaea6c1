// Package sim writes synthetic incidents: the evidence that a gateway and
// SGLang nodes would have left, and beside it the truth that no log tells.
//
// The page allocator is simulated page by page and the ownership of KV rows
// slot by slot, so that the truth names every earlier request whose rows a
// suspect attended to. All time is simulated, in microseconds; the same Config
// gives the same bytes.
//
// # Evidence
//
// Below the folder given to [Write]: gateway/gateway-DATE.jsonl (or .csv),
// whose rows appear in the order in which requests ended, logs/NODE.log and
// incident.yaml; each but the last with .gz if compressed.
//
// # Truth
//
// truth/truth.json holds one JSON object of type [Truth]. Its fields come in
// the order of that type, and its suspects and controls lie one to a line, so
// that a large truth can be read as a stream. The folder also holds
// .kvforensics-truth, which keeps ingest out of it.
package sim
