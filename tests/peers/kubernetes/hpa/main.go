// Runs Kubernetes' own HorizontalPodAutoscaler controller on cases: one JSON object a line on standard input,
// and a line of results for each case on standard output. The code is upstream's, unchanged, of the version
// that go.mod pins; only the clock and the environment of the controller are replaced.
//
// tests/peers chooses the cases, and compares the results.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
)

func main() {
	cases, err := readCases(os.Stdin)
	if err != nil {
		fmt.Fprintf(os.Stderr, "failed to read the cases: %v\n", err)
		os.Exit(1)
	}
	out := os.Stdout
	// The output of the testing package is not part of the results.
	os.Stdout = os.Stderr
	// A clock that stands still until all goroutines wait exists only inside a test.
	everything := func(string, string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "cases", F: func(t *testing.T) {
		var answers [][]int32
		synctest.Test(t, func(t *testing.T) {
			controller := newController()
			defer controller.stop()
			for number, one := range cases {
				answer, err := controller.live(fmt.Sprintf("case-%d", number), one)
				if err != nil {
					t.Errorf("case %d: %v", number, err)
					return
				}
				answers = append(answers, answer)
			}
		})
		if err := writeAnswers(out, answers); err != nil {
			t.Fatalf("failed to write the answers: %v", err)
		}
	}}}, nil, nil)
}

func readCases(from io.Reader) ([]Case, error) {
	var cases []Case
	decoder := json.NewDecoder(bufio.NewReader(from))
	// An unknown field would change the meaning of the case.
	decoder.DisallowUnknownFields()
	for {
		var one Case
		if err := decoder.Decode(&one); err == io.EOF {
			return cases, nil
		} else if err != nil {
			return nil, fmt.Errorf("case %d: %w", len(cases), err)
		}
		cases = append(cases, one)
	}
}

func writeAnswers(to io.Writer, answers [][]int32) error {
	buffered := bufio.NewWriter(to)
	encoder := json.NewEncoder(buffered)
	for _, line := range answers {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
