// Kvforensics finds out which requests of an LLM inference platform may have
// read another customer's KV cache, from its logs.
package main

import (
	"os"

	"kvforensics/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
