// Evaluates expressions with Kubernetes' own libraries for CEL, in the environment that Open Cluster
// Management has for placements: one JSON object on standard input, and a line of output for each expression. The
// evaluation is upstream's code, of the version that go.mod pins; the two functions of Open Cluster
// Management itself are written from their documentation.
//
// tests/peers chooses the expressions, and compares the results.
package main

import (
	"bufio"
	stdjson "encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/cel/library"
)

// request is the input: every expression over every cluster.
type request struct {
	Clusters    []map[string]any            `json:"clusters"`
	Scores      map[string]map[string][]any `json:"scores"`
	Expressions []string                    `json:"expressions"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "failed to answer: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	var all request
	var raw stdjson.RawMessage
	if err := stdjson.NewDecoder(bufio.NewReader(os.Stdin)).Decode(&raw); err != nil {
		return fmt.Errorf("failed to read what is asked: %w", err)
	}
	// As Kubernetes reads its objects: whole numbers are integers.
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("failed to understand what is asked: %w", err)
	}
	env, err := environment(all.Scores)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, expression := range all.Expressions {
		fmt.Fprintln(out, answer(env, expression, all.Clusters))
	}
	return out.Flush()
}

func environment(scores map[string]map[string][]any) (*cel.Env, error) {
	return cel.NewEnv(
		cel.OptionalTypes(),
		ext.Strings(),
		library.Lists(),
		library.Regex(),
		library.URLs(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
		cel.Variable("managedCluster", cel.MapType(cel.StringType, cel.DynType)),
		cel.Function("scores", cel.MemberOverload("cluster_scores",
			[]*cel.Type{cel.DynType, cel.StringType}, cel.ListType(cel.DynType),
			cel.BinaryBinding(func(cluster, object ref.Val) ref.Val {
				name := cluster.(traits.Indexer).Get(types.String("metadata")).(traits.Indexer).Get(types.String("name"))
				found, ok := scores[name.Value().(string)][object.Value().(string)]
				if !ok {
					return types.NewErr("failed to get score")
				}
				return types.DefaultTypeAdapter.NativeToValue(found)
			}))),
		cel.Function("parseJSON", cel.MemberOverload("parse_json_string",
			[]*cel.Type{cel.StringType}, cel.DynType,
			cel.UnaryBinding(func(text ref.Val) ref.Val {
				var parsed any
				if err := stdjson.Unmarshal([]byte(text.Value().(string)), &parsed); err != nil {
					return types.WrapErr(err)
				}
				return types.DefaultTypeAdapter.NativeToValue(parsed)
			}))),
	)
}

// answer is "!" for an expression that does not compile; otherwise a character for each cluster: "t" and "f" for true and
// false, "e" for an error, and "o" for any other result.
func answer(env *cel.Env, expression string, clusters []map[string]any) string {
	ast, issues := env.Compile(expression)
	if issues != nil && issues.Err() != nil {
		return "!"
	}
	program, err := env.Program(ast)
	if err != nil {
		return "!"
	}
	letters := make([]byte, 0, len(clusters))
	for _, cluster := range clusters {
		letters = append(letters, letter(program, cluster))
	}
	return string(letters)
}

func letter(program cel.Program, cluster map[string]any) byte {
	result, _, err := program.Eval(map[string]any{"managedCluster": cluster})
	if err != nil {
		return 'e'
	}
	switch result {
	case types.True:
		return 't'
	case types.False:
		return 'f'
	default:
		return 'o'
	}
}
