//! The arrows between the crates, and between the modules of each crate.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::repository;
use super::sources::{Arrows, Sources};

/// Crates of this repository that each crate may depend on. `ARCHITECTURE.md` draws the same picture.
const CRATE_ARROWS: &[(&str, &[&str])] = &[
    ("portion-json", &[]),
    ("portion-net", &[]),
    ("portion-tokens", &[]),
    ("portion-install", &[]),
    ("portion-text", &["json", "tokens"]),
    ("portion-redact", &["json", "text"]),
    ("portion-core", &["json", "redact", "text", "tokens"]),
    ("portion-policy", &["core", "json", "text", "tokens"]),
    ("portion-auth", &["core", "json", "net", "policy", "text", "tokens"]),
    ("portion-sql", &["core", "json", "text", "tokens"]),
    ("portion-telemetry", &["core", "json", "net", "text", "tokens"]),
    ("portion-config", &["core", "json", "policy", "text", "tokens"]),
    ("portion-dashboard", &["core", "json", "telemetry", "text", "tokens"]),
    ("portion-gateway", &["core", "json", "net", "policy", "sql", "text", "tokens"]),
    ("portion-mcp", &["auth", "core", "gateway", "json", "net", "policy", "text", "tokens"]),
    ("portion-rest", &["core", "gateway", "json", "mcp", "net", "policy", "text", "tokens"]),
    ("portion-client", &["core", "json", "mcp", "policy", "text", "tokens"]),
    (
        "portion",
        &[
            "auth",
            "client",
            "config",
            "core",
            "dashboard",
            "gateway",
            "install",
            "json",
            "mcp",
            "net",
            "policy",
            "rest",
            "telemetry",
            "text",
            "tokens",
        ],
    ),
];

/// Packages of others that crates must not depend on.
const FORBIDDEN_PACKAGES: &[(&[&str], &[&str])] = &[
    (
        &[
            "portion-json",
            "portion-tokens",
            "portion-text",
            "portion-redact",
            "portion-core",
            "portion-policy",
        ],
        &["getrandom", "hyper", "rusqlite", "rustix", "rustls", "tokio", "tracing"],
    ),
    (&["portion-gateway"], &["hyper", "hyper-rustls", "hyper-util"]),
    (&["portion-config"], &["hyper", "hyper-rustls", "hyper-util", "rusqlite", "rustls", "tokio"]),
];

/// Largest circle of files inside a module.
const MAX_CIRCLE: usize = 4;

/// Returns the names of the packages that each crate depends on, other than for tests and benchmarks.
fn dependencies() -> Arrows {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--locked", "--offline"])
        .current_dir(repository(""))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    // The fuzz targets may depend on every crate.
    packages
        .filter(|package| package["name"] != "portion-fuzz")
        .map(|package| {
            let needed = package["dependencies"].as_array().expect("dependencies").iter();
            let needed = needed.filter(|dependency| dependency["kind"] != "dev");
            (text(&package["name"]), needed.map(|dependency| text(&dependency["name"])).collect())
        })
        .collect()
}

#[test]
fn crates_depend_on_each_other_as_drawn() {
    let dependencies = dependencies();
    let drawn: Vec<&str> = CRATE_ARROWS.iter().map(|(name, _)| *name).collect();
    for (name, needed) in &dependencies {
        let (_, allowed) = CRATE_ARROWS
            .iter()
            .find(|(crate_name, _)| crate_name == name)
            .unwrap_or_else(|| panic!("add {name} to CRATE_ARROWS and to ARCHITECTURE.md"));
        for other in needed.iter().filter(|other| drawn.contains(&other.as_str())) {
            let is_allowed = allowed.iter().any(|allowed| *other == format!("portion-{allowed}"));
            assert!(is_allowed, "{name} must not depend on {other}");
        }
        for (crates, packages) in FORBIDDEN_PACKAGES {
            for package in packages.iter().filter(|_| crates.contains(&name.as_str())) {
                assert!(!needed.contains(*package), "{name} must not depend on {package}");
            }
        }
    }
    assert_eq!(circles(&dependencies), Vec::<Vec<String>>::new());
}

#[test]
fn no_circle_crosses_a_module() {
    for (name, _) in CRATE_ARROWS {
        let arrows = sources(name).module_arrows();
        assert!(!arrows.is_empty(), "{name} has modules");
        assert_eq!(
            circles(&arrows),
            Vec::<Vec<String>>::new(),
            "modules of {name} that depend on each other"
        );
    }
}

#[test]
fn circles_inside_a_module_are_small() {
    for (name, _) in CRATE_ARROWS {
        for circle in circles(&sources(name).file_arrows()) {
            assert!(
                circle.len() <= MAX_CIRCLE,
                "{} files of {name} depend on each other; move what they share to a file of its own: {circle:?}",
                circle.len()
            );
        }
    }
}

#[test]
fn circles_are_found() {
    let check = |arrows: &[(&str, &str)], expect: &[&[&str]]| {
        let mut graph = Arrows::new();
        for (from, to) in arrows {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        assert_eq!(circles(&graph), expect.iter().map(|circle| circle.to_vec()).collect::<Vec<_>>());
    };
    check(&[("a", "b"), ("b", "c"), ("a", "c")], &[]);
    check(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")], &[&["b", "c"]]);
    check(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c")], &[&["a", "b"], &["c", "d", "e"]]);
}

fn sources(name: &str) -> Sources {
    Sources::read(&repository(&format!("crates/{name}/src")))
}

/// Returns the sets of nodes that reach each other, sorted.
fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|node| (node, reachable(arrows, node))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (node, seen) in &reached {
        let is_new = !circles.iter().flatten().any(|other| other == *node);
        if is_new && seen.contains(*node) {
            let members =
                seen.iter().filter(|other| reached.get(**other).is_some_and(|back| back.contains(*node)));
            circles.push(members.map(|other| (**other).clone()).collect());
        }
    }
    circles
}

/// Returns the nodes that `from` leads to.
fn reachable<'a>(arrows: &'a Arrows, from: &'a String) -> BTreeSet<&'a String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop() {
        open.extend(arrows.get(node).into_iter().flatten().filter(|next| seen.insert(*next)));
    }
    seen
}
