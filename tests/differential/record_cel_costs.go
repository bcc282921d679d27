// Asks cel-go, in the environment of Kyverno's ValidatingPolicy, what expressions cost.
//
// Needs a module that requires github.com/kyverno/kyverno v1.19.0:
//
//	go run record_cel_costs.go tests/differential/cel_costs.json
package main

import (
	"encoding/json"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/kyverno/kyverno/pkg/cel/compiler"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

type recorded struct {
	Object map[string]any    `json:"object"`
	Costs  map[string]uint64 `json:"costs"`
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	var asked recorded
	check(json.Unmarshal(data, &asked))
	own := append(compiler.DefaultEnvOptionsWithCompat(), cel.Variable("object", cel.DynType))
	first := version.MajorMinor(1, 0)
	set, err := environment.MustBaseEnvSet(first).Extend(
		environment.VersionedOptions{IntroducedVersion: first, EnvOptions: own})
	check(err)
	env := set.StoredExpressionsEnv()
	for text := range asked.Costs {
		ast, issues := env.Compile(text)
		check(issues.Err())
		program, err := env.Program(ast)
		check(err)
		_, details, err := program.Eval(map[string]any{"object": asked.Object})
		check(err)
		asked.Costs[text] = *details.ActualCost()
	}
	out, err := json.MarshalIndent(asked, "", " ")
	check(err)
	check(os.WriteFile(os.Args[1], append(out, '\n'), 0o644))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
