//! Completion: the candidates of the program, and their use by bash, zsh and fish with the printed scripts.
//! `cluster_kubectl_completion` tests kubectl, which requests candidates in its own way.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use crate::installing;
use crate::running::{Ran, empty_directory, write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

/// A separate directory for a test, with the program on the path.
struct Stage(PathBuf);

impl Stage {
    fn new(name: &str) -> Stage {
        let folder = empty_directory("completion", name);
        fs::create_dir(folder.join("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_almanac"), folder.join("bin/almanac"))
            .unwrap();
        Stage(folder)
    }

    fn file(self, path: &str, text: &str) -> Stage {
        write(&self.0, &[(path, text)]);
        self
    }

    /// Runs a program in this directory, without user settings.
    fn run(&self, program: &str, arguments: &[&str]) -> Ran {
        let path = format!("{}:{}", self.0.join("bin").display(), env::var("PATH").unwrap());
        let mut command = Command::new(program);
        command.current_dir(&self.0).stdin(Stdio::null()).args(arguments);
        command.env("PATH", path).env("HOME", &self.0).env_remove("KUBECONFIG");
        Ran::from_output(&command.env("LC_ALL", "C.UTF-8").env("TERM", "dumb").output().unwrap())
    }

    /// The completions that the program offers to the script of a shell.
    #[track_caller]
    fn offered(&self, shell: &str, words: &[&str]) -> Vec<String> {
        let prefix = ["-c", "exec \"$@\"", "sh", "env", "_CLAP_IFS=\n"];
        let variables =
            [format!("ALMANAC_COMPLETE={shell}"), format!("_CLAP_COMPLETE_INDEX={}", words.len())];
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let output =
            self.run("sh", &[&prefix, &*variables, &["almanac", "--", "almanac"], words].concat());
        assert_eq!(output.stderr, "", "standard error is not empty");
        // The description follows the candidate, if the shell displays it.
        let value = |line: &str| line.split(['\t', ':']).next().unwrap().to_owned();
        output.stdout.lines().map(value).collect()
    }

    /// Checks the candidates from files with several attempts: the search has a time limit, and on a busy machine one
    /// attempt may find too little.
    #[track_caller]
    fn assert_offered(&self, shell: &str, words: &[&str], expected: &[&str]) {
        let mut offered = Vec::new();
        for _ in 0..50 {
            offered = self.offered(shell, words);
            if offered == expected {
                return;
            }
        }
        assert_eq!(offered, expected);
    }
}

const SHELLS: [&str; 4] = ["bash", "zsh", "fish", "powershell"];

fn policy(name: &str, target: &str, namespace: &str) -> String {
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
         metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
         scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {target}}}\n  rules: []\n"
    )
}

#[test]
fn a_shell_is_offered_commands_flags_values_files_and_zones() {
    let stage = Stage::new("usual").file("examples/a.yaml", "");
    for shell in SHELLS {
        let first = |words: &[&str]| stage.offered(shell, words).remove(0);
        assert_eq!(first(&["fore"]), "forecast");
        assert_eq!(first(&["forecast", "--assu"]), "--assume");
        assert_eq!(first(&["forecast", "-o", "h"]), "html");
        assert_eq!(first(&["forecast", "-f", "exam"]), "examples/");
        assert_eq!(first(&["when", "--zone", "Europe/Berl"]), "Europe/Berlin");
        assert_eq!(first(&["lint", "-o", "sa"]), "sarif");
    }
    // bash completes the text after an equals sign as a separate word.
    for shell in ["zsh", "fish"] {
        assert_eq!(stage.offered(shell, &["lint", "-o", "sarif=exam"]), ["sarif=examples/"]);
    }
}

#[test]
fn names_are_those_of_the_policies_and_their_targets_in_the_files_of_the_line() {
    let stage = Stage::new("names")
        .file("policies/hours.yaml", &policy("shop-hours", "shop", "prod"))
        .file("policies/deep/night.yaml", &policy("shop-night", "worker", "test"))
        .file("policies/values.yaml", "a: [\n")
        .file("policies/.hidden.yaml", &policy("shop-hidden", "hidden", "prod"))
        .file("other.yaml", &policy("other", "other", "prod"));
    for shell in SHELLS {
        let offered =
            |words: &[&str], expected: &[&str]| stage.assert_offered(shell, words, expected);
        for command in ["forecast", "next", "explain"] {
            offered(&[command, "-f", "policies", "sho"], &["shop", "shop-hours", "shop-night"]);
        }
        offered(&["next", "-f", "*.yaml", "o"], &["other"]);
        offered(
            &["explain", "-f", "policies", "-f", "other.yaml", "deploy/"],
            &["deploy/other", "deploy/shop", "deploy/worker"],
        );
        offered(&["explain", "-f", "policies", "cronfhpa/test/"], &["cronfhpa/test/shop-night"]);
        offered(&["explain", "-f", "policies", "sts/"], &[""; 0]);
        let both = ["diff", "policies/hours.yaml", "policies/deep", "--only", "sho"];
        offered(&both, &["shop", "shop-hours", "shop-night"]);
        offered(&["validate", "-f", "policies", "-n", ""], &["prod", "test"]);
    }
}

#[test]
fn contexts_and_namespaces_are_those_of_the_kubeconfig() {
    let context = |name: &str, more: &str| {
        format!("- {{name: {name}, context: {{cluster: a, user: a{more}}}}}\n")
    };
    let usual = context("here", ", namespace: shops") + &context("there", "");
    let stage = Stage::new("kubeconfig")
        .file(".kube/config", &format!("contexts:\n{usual}"))
        .file("other.yaml", &format!("contexts:\n{}", context("elsewhere", "")))
        .file("mangled", "contexts: [\n");
    for shell in SHELLS {
        let offered = |words: &[&str]| stage.offered(shell, words);
        assert_eq!(offered(&["next", "--context", ""]), ["here", "there"]);
        assert_eq!(offered(&["controller", "--context", "t"]), ["there"]);
        assert_eq!(offered(&["forecast", "-n", ""]), ["shops"]);
        let expected = ["elsewhere"];
        assert_eq!(offered(&["next", "--kubeconfig", "other.yaml", "--context", ""]), expected);
        for file in ["mangled", "absent"] {
            assert_eq!(offered(&["next", "--kubeconfig", file, "--context", ""]), [""; 0]);
        }
    }
}

#[test]
fn unreadable_files_offer_no_completions_without_a_delay() {
    let stage = Stage::new("unreadable").file("broken.yaml", "kind: CronFederatedHPA\n\tname: [\n");
    let pipe = stage.0.join("pipe.yaml");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    for file in ["-", "pipe.yaml", "broken.yaml", "absent.yaml", "/dev/zero", "[", "."] {
        assert_eq!(stage.offered("bash", &["next", "-f", file, "s"]), [""; 0], "{file}");
    }
}

#[test]
fn each_script_calls_the_program_for_completions() {
    let stage = Stage::new("scripts");
    for shell in SHELLS {
        let script = stage.run("almanac", &["completion", shell]);
        let variables = match shell {
            "fish" => "ALMANAC_COMPLETE=fish",
            "powershell" => "$env:ALMANAC_COMPLETE = \"powershell\"",
            _ => "ALMANAC_COMPLETE=\"",
        };
        script.assert_stdout(&[variables]);
    }
}

#[test]
fn powershell_registers_the_program_by_both_of_its_names() {
    let stage = Stage::new("powershell");
    let script = |name: &str| stage.run("almanac", &["completion", name]).stdout;
    let registered = "Register-ArgumentCompleter -Native -CommandName almanac";
    assert!(script("powershell").contains(registered), "{}", script("powershell"));
    assert_eq!(script("pwsh"), script("powershell"));
    assert!(!script("pwsh").contains("Invoke-Expression"), "the script would run typed text");
    // The script calls the program itself, which offers every command.
    let offered = stage.offered("powershell", &[""]);
    for command in ["forecast", "explain", "next", "diff", "when", "lint", "validate", "version"] {
        assert!(offered.iter().any(|it| it == command), "{offered:?}");
    }
}

#[test]
fn paths_are_offered_in_place_of_names_until_a_flag_names_files() {
    let stage = Stage::new("paths")
        .file("policies/hours.yaml", &policy("hours", "shop", "prod"))
        .file("other.yaml", &policy("other", "other", "prod"));
    for shell in SHELLS {
        assert_eq!(stage.offered(shell, &["explain", "pol"]), ["policies/"]);
        stage.assert_offered(shell, &["explain", "policies", "ho"], &["hours"]);
        stage.assert_offered(shell, &["next", "-f", "policies", "o"], &[]);
    }
}

#[test]
fn bash_completes_with_the_script() {
    let script = "source <(almanac completion bash)
        COMP_WORDS=(almanac when --zone Europe/Berl) COMP_CWORD=3 COMP_TYPE=9
        _clap_complete_almanac almanac Europe/Berl --zone
        echo \"${COMPREPLY[*]}\"; complete -p almanac";
    let output = Stage::new("bash").run("bash", &["-c", script]);
    assert!(output.stdout.starts_with("Europe/Berlin\ncomplete "), "{}", output.all());
}

#[test]
fn fish_completes_with_the_script() {
    installing::needs("fish");
    let stage =
        Stage::new("fish").file("our policies/a.yaml", &policy("shop-hours", "shop", "prod"));
    let completed = |line: &str| {
        let script = format!("almanac completion fish | source; complete -C {line:?}");
        let printed = stage.run("fish", &["--no-config", "-c", &script]).all();
        let value = |line: &str| line.split('\t').next().unwrap().to_owned();
        printed.lines().map(value).collect::<Vec<_>>()
    };
    assert_eq!(completed("almanac when --zone Europe/Berl"), ["Europe/Berlin"]);
    assert_eq!(completed("almanac next -f 'our policies' shop-"), ["shop-hours"]);
}

#[test]
fn zsh_completes_with_the_script() {
    installing::needs("zsh");
    let stage =
        Stage::new("zsh").file("our policies/a.yaml", &policy("shop-hours", "shop", "prod"));
    // A separate line editor: a tab completes the typed text, and Ctrl-X prints it.
    let driver = r#"zmodload zsh/zpty
        zpty shell zsh --no-rcs -i
        zpty -w shell 'PS1= RPS1=; autoload -U compinit; compinit -u -D
            source <(almanac completion zsh)
            show() { print -r -- "<$BUFFER>"; BUFFER= }; zle -N show; bindkey "^X" show
            print REA""DY'
        zpty -r shell out "*READY*"
        zpty -w -n shell $1$'\t\x18'
        zpty -r shell out "*<*>*"
        print -r -- "${${out##*<}%%>*}""#;
    let completed = |line: &str| {
        // Without a limit, an unresponsive shell would block the test forever.
        let shell = ["60", "zsh", "--no-rcs", "-c", driver, "driver", line];
        stage.run("timeout", &shell).all()
    };
    let expected = "almanac when --zone Europe/Berlin \n";
    assert_eq!(completed("almanac when --zone Europe/Berl"), expected);
    let of_files = "almanac next -f 'our policies' shop-";
    assert_eq!(completed(of_files), format!("{of_files}hours \n"));
}
