// Command etcd is the etcd server, built from the public Go module so that the
// checks need no download of a release binary.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
