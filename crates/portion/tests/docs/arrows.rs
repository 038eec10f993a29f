//! The arrows between the crates, and between the modules of each crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::repository;

/// Crates of this repository that each crate may depend on. `ARCHITECTURE.md` draws the same picture.
const CRATE_ARROWS: &[(&str, &[&str])] = &[
    ("portion-json", &[]),
    ("portion-net", &[]),
    ("portion-oauth", &["net"]),
    ("portion-worker", &[]),
    ("portion-tokens", &[]),
    ("portion-install", &[]),
    ("portion-text", &["json", "tokens"]),
    ("portion-core", &["json", "text", "tokens"]),
    ("portion-policy", &["core", "json", "text", "tokens"]),
    ("portion-auth", &["core", "json", "policy", "text", "tokens"]),
    ("portion-openapi", &["text"]),
    ("portion-sql", &["core", "json", "text", "tokens"]),
    ("portion-telemetry", &["core", "json", "text", "tokens", "worker"]),
    ("portion-config", &["core", "json", "openapi", "policy", "text", "tokens"]),
    ("portion-dashboard", &["core", "json", "telemetry", "text", "tokens"]),
    ("portion-otlp", &["core", "json", "net", "telemetry", "text", "tokens", "worker"]),
    ("portion-gateway", &["core", "json", "policy", "sql", "text", "tokens", "worker"]),
    ("portion-redis", &["core", "gateway"]),
    ("portion-http", &["core", "gateway", "json", "net", "openapi", "policy", "text", "tokens"]),
    (
        "portion-mcp",
        &["auth", "core", "gateway", "json", "net", "openapi", "policy", "text", "tokens", "worker"],
    ),
    ("portion-client", &["core", "json", "mcp", "text", "tokens"]),
    ("portion-check", &["core", "policy", "text", "tokens"]),
    (
        "portion",
        &[
            "auth",
            "check",
            "client",
            "config",
            "core",
            "dashboard",
            "gateway",
            "http",
            "install",
            "json",
            "mcp",
            "oauth",
            "openapi",
            "otlp",
            "policy",
            "redis",
            "telemetry",
            "text",
            "tokens",
            "worker",
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
            "portion-core",
            "portion-policy",
            "portion-openapi",
        ],
        &["getrandom", "hyper", "rusqlite", "rustix", "rustls", "tokio", "tracing"],
    ),
    (&["portion-auth", "portion-gateway"], &["hyper", "hyper-rustls", "hyper-util", "rusqlite", "rustls"]),
    (&["portion-config"], &["hyper", "hyper-rustls", "hyper-util", "rusqlite", "rustls", "tokio"]),
];

/// Circles between modules of a crate that are known. A new one fails the test, and so does one that is gone.
const KNOWN_CIRCLES: &[(&str, &[&str])] = &[
    ("portion-dashboard", &["api", "page", "site"]),
    ("portion-sql", &["column", "redaction", "rounding", "table"]),
    ("portion-telemetry", &["experiment", "read", "rollup", "store"]),
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

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
    packages
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
        let known: Vec<Vec<String>> = KNOWN_CIRCLES
            .iter()
            .filter(|(crate_name, _)| crate_name == name)
            .map(|(_, modules)| modules.iter().map(|module| (*module).to_owned()).collect())
            .collect();
        let arrows = module_arrows(&repository(&format!("crates/{name}/src")));
        assert!(!arrows.is_empty(), "{name} has modules");
        assert_eq!(circles(&arrows), known, "modules of {name} that depend on each other");
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

#[test]
fn references_are_found() {
    let check = |text: &str, depth: usize, expect: &[&str]| {
        let found: Vec<String> = root_names(text, depth).into_iter().collect();
        assert_eq!(found, expect, "{text}");
    };
    check("use crate::frame::Frame;", 1, &["frame"]);
    check(
        "use crate::{call::{Call, Caller}, fault};\nlet x = crate::gateway::new();",
        1,
        &["call", "fault", "gateway"],
    );
    check("// crate::gone\nuse super::store::Store;", 1, &["store"]);
    check("use super::store::Store;", 2, &[]);
    check("use super::super::{store, rules::Rule};", 2, &["rules", "store"]);
    check("use crate::a;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}", 1, &["a"]);
    check("pub(in crate::chunk) fn f() {}", 1, &["chunk"]);
}

/// Returns the top-level modules that each top-level module refers to.
fn module_arrows(source: &Path) -> Arrows {
    let mut files = Vec::new();
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let parts = |file: &PathBuf| -> Vec<String> {
        let relative = file.strip_prefix(source).expect("inside").with_extension("");
        relative.iter().map(|part| part.to_string_lossy().into_owned()).filter(|part| part != "mod").collect()
    };
    let is_code = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "rs");
    let modules: BTreeSet<String> =
        files.iter().filter(is_code).filter_map(|file| parts(file).into_iter().next()).collect();
    let mut arrows = Arrows::new();
    for file in files.iter().filter(is_code) {
        let parts = parts(file);
        let is_test = parts.iter().any(|part| part == "tests" || part == "laws");
        let [module, ..] = parts.as_slice() else { continue };
        let is_root = parts.len() == 1 && ["lib", "main"].contains(&module.as_str());
        if is_test || is_root {
            continue;
        }
        let names = root_names(&fs::read_to_string(file).expect("a source file"), parts.len());
        let others = names.into_iter().filter(|name| name != module && modules.contains(name));
        arrows.entry(module.clone()).or_default().extend(others);
    }
    arrows
}

/// Returns the names at the root of the crate that a file refers to, outside of comments and tests. `depth` is the
/// number of modules that contain the file, its own included.
fn root_names(text: &str, depth: usize) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut names = BTreeSet::new();
    for prefix in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            names.extend(first_names(&code[at + prefix.len()..]));
        }
    }
    names
}

/// Returns the first name of a path, or those of a group in braces.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut names, mut level) = (vec![name(group)], 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => level += 1,
            '}' if level == 0 => break,
            '}' => level -= 1,
            ',' if level == 0 => names.push(name(&group[at + 1..])),
            _ => {}
        }
    }
    names
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
