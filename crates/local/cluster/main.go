// One static binary that holds what a Kubernetes control plane needs: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, and the kubectl of the same version. Every one is
// the upstream command, unchanged; this file only chooses which one to be.
//
// One binary, because linking is what costs time after the first build, and four fifths of
// the code is the same in all of them. They run as processes of their own, never two in one:
// the upstream commands keep signal handlers, feature gates and metrics in package variables.
// Processes of their own are also what a test can kill, stop and restart one at a time.
//
// The crate crates/local starts them, and sets their flags and certificates.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	// CronJobs name time zones; the machine may have no zone files.
	_ "time/tzdata"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"k8s.io/component-base/cli"
	// What upstream's own main packages register: JSON logs and the client's metrics.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// programs are the names under which the binary can be called: by a link of that name, or
// with the name as the first argument.
var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
	"kubectl":                 runKubectl,
}

func main() {
	if run, ok := programs[filepath.Base(os.Args[0])]; ok {
		run()
		return
	}
	if len(os.Args) > 1 {
		if run, ok := programs[os.Args[1]]; ok {
			// The commands read os.Args themselves, so their name must stand first.
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: almanac-cluster etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl [flags]")
	os.Exit(2)
}

func runKubectl() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		// kubectl prints its own errors the way people know them, and exits.
		kubectlutil.CheckErr(err)
	}
}
