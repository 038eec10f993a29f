//! Source files of a crate, and the references between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Nodes, each with the nodes that it refers to.
pub(crate) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Names of the modules from the root of the crate to one of its modules. It is empty for the root.
type ModulePath = Vec<String>;

/// Largest number of imports that are followed from a name to its definition.
const MAX_IMPORTS: usize = 8;

/// The modules of a crate, each with its code. Tests are left out.
pub(crate) struct Sources(BTreeMap<ModulePath, Vec<Reference>>);

/// A path in the code of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    path: Vec<String>,
    /// The name that an import makes available.
    imported_as: Option<String>,
    is_public: bool,
}

impl Sources {
    /// Reads the files of a folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let (mut modules, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
        while let Some(parent) = folders.pop() {
            for entry in fs::read_dir(&parent).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let relative = path.strip_prefix(folder).expect("inside").with_extension("");
                    let text = fs::read_to_string(&path).expect("a source file");
                    let names = relative.iter().map(|name| name.to_string_lossy().into_owned());
                    let module: ModulePath =
                        names.filter(|name| !["mod", "lib", "main"].contains(&name.as_str())).collect();
                    if !module.iter().any(|name| name == "tests" || name == "laws") {
                        modules.insert(module, references(&text));
                    }
                }
            }
        }
        Self(modules)
    }

    /// Returns the top-level modules that each top-level module names.
    pub(crate) fn module_arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (module, references) in &self.0 {
            let Some(name) = module.first() else { continue };
            let others = arrows.entry(name.clone()).or_default();
            for path in references.iter().filter_map(|reference| self.absolute(module, &reference.path)) {
                others.extend(
                    path.first().filter(|other| *other != name && self.0.contains_key(&path[..1])).cloned(),
                );
            }
        }
        arrows
    }

    /// Returns the files that each file refers to, named as modules. A name that is imported leads to the file that
    /// defines it. Files that only make the names of their own modules public do not refer to them.
    pub(crate) fn file_arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (module, references) in &self.0 {
            let others = arrows.entry(module.join("::")).or_default();
            for reference in references {
                let Some(path) = self.absolute(module, &reference.path) else { continue };
                let definition = self.definition(path);
                let is_own = reference.is_public && definition.starts_with(module);
                if definition != *module && !is_own {
                    others.insert(definition.join("::"));
                }
            }
        }
        arrows
    }

    /// Returns a path from the root of the crate, or `None` if it leads to another crate or begins with an imported name.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let first = path.first()?;
        let below = |names: usize| module.get(..names).map(<[String]>::to_vec);
        let (mut start, rest) = match first.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (module.to_vec(), &path[1..]),
            "super" => (below(module.len().checked_sub(ups)?)?, &path[ups..]),
            _ => (module.to_vec(), path),
        };
        let is_relative = !["crate", "self", "super"].contains(&first.as_str());
        start.extend(rest.iter().take(1).cloned());
        let is_known = !is_relative || self.0.contains_key(&start);
        start.extend(rest.iter().skip(1).cloned());
        is_known.then_some(start)
    }

    /// Returns the module that defines what a path names.
    fn definition(&self, mut path: Vec<String>) -> ModulePath {
        for _ in 0..MAX_IMPORTS {
            let len = (0..=path.len()).rev().find(|len| self.0.contains_key(&path[..*len])).unwrap_or(0);
            let (module, rest) = path.split_at(len);
            let references = self.0.get(module).map(Vec::as_slice).unwrap_or_default();
            let import = rest.first().and_then(|name| {
                references.iter().find(|reference| reference.imported_as.as_ref() == Some(name))
            });
            match import.and_then(|import| self.absolute(module, &import.path)) {
                Some(next) if next != path => path = [&next[..], &rest[1..]].concat(),
                _ => return module.to_vec(),
            }
        }
        path
    }
}

/// Returns the paths in code, outside of comments and unit tests.
fn references(text: &str) -> Vec<Reference> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let tokens = tokens(code);
    let (mut found, mut at, mut is_public) = (Vec::new(), 0, false);
    while let Some(token) = tokens.get(at) {
        match *token {
            "use" => {
                let end = at + tokens[at..].iter().position(|token| *token == ";").unwrap_or(0);
                for (path, name) in use_tree(&tokens[at + 1..end.max(at + 1)]) {
                    found.push(Reference { path, imported_as: Some(name), is_public });
                }
                at = end;
            }
            "pub" => {
                // `pub(in path)` names a module only to hide an item from others.
                let has_scope = tokens.get(at + 1) == Some(&"(");
                let end = tokens[at..].iter().position(|token| *token == ")").filter(|_| has_scope);
                at += end.unwrap_or(0);
                is_public = true;
                at += 1;
                continue;
            }
            name if is_name(name) && tokens.get(at + 1) == Some(&"::") => {
                let mut path = vec![name.to_owned()];
                while tokens.get(at + 1) == Some(&"::")
                    && tokens.get(at + 2).is_some_and(|name| is_name(name))
                {
                    path.push(tokens[at + 2].to_owned());
                    at += 2;
                }
                found.push(Reference { path, imported_as: None, is_public: false });
            }
            _ => {}
        }
        is_public = false;
        at += 1;
    }
    found
}

/// Returns the paths of a `use` declaration, each with the name that it makes available.
fn use_tree(tokens: &[&str]) -> Vec<(Vec<String>, String)> {
    let (mut paths, mut open) = (Vec::new(), vec![Vec::new()]);
    let mut path: Vec<String> = Vec::new();
    let mut alias = None;
    let close = |path: &[String], alias: Option<&str>, paths: &mut Vec<(Vec<String>, String)>| {
        let path: Vec<String> = path
            .iter()
            .enumerate()
            .filter(|(at, name)| *at == 0 || *name != "self")
            .map(|(_, name)| name.clone())
            .collect();
        if let Some(last) = path.last() {
            let name = alias.map_or_else(|| last.clone(), str::to_owned);
            paths.push((path, name));
        }
    };
    let mut iter = tokens.iter();
    while let Some(token) = iter.next() {
        match *token {
            "::" => {}
            "as" => alias = iter.next().copied(),
            "{" => open.push(path.clone()),
            "}" | "," => {
                let prefix = open.last().cloned().unwrap_or_default();
                if path.len() > prefix.len() {
                    close(&path, alias, &mut paths);
                }
                alias = None;
                if *token == "}" {
                    open.pop();
                    path = open.last().cloned().unwrap_or_default();
                } else {
                    path = prefix;
                }
            }
            name => path.push(name.to_owned()),
        }
    }
    if !path.is_empty() {
        close(&path, alias, &mut paths);
    }
    paths
}

/// Splits code into names, `::`, and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let len = match first {
            ':' if rest.starts_with("::") => 2,
            c if is_name_char(c) => rest.find(|c| !is_name_char(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        tokens.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c| is_name_char(c) && !c.is_ascii_digit())
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn paths_are_found() {
    let check = |text: &str, expect: &[&str]| {
        let found: Vec<String> = references(text).iter().map(|reference| reference.path.join("::")).collect();
        assert_eq!(found, expect, "{text}");
    };
    check("use crate::frame::Frame;", &["crate::frame::Frame"]);
    check(
        "use crate::{call::{Call, Caller}, fault};\nlet x = crate::gateway::new::<u8>();",
        &["crate::call::Call", "crate::call::Caller", "crate::fault", "crate::gateway::new"],
    );
    check("use super::error::{self, Error as _};", &["super::error", "super::error::Error"]);
    check("use a::{b::{c}, d};", &["a::b::c", "a::d"]);
    check("// crate::gone\nuse super::store::Store;", &["super::store::Store"]);
    check("use crate::a;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}", &["crate::a"]);
    check("pub(in crate::chunk) fn f() {}", &[]);
}

#[test]
fn names_lead_to_their_definitions() {
    let module = |name: &str| -> ModulePath {
        name.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let sources = Sources(
        [
            ("", "mod a;\nmod b;"),
            ("a", "mod inner;\npub use inner::Inner;\nfn f(x: crate::b::B) {}"),
            ("a::inner", "pub struct Inner;"),
            ("b", "use super::a::Inner;\nuse std::fs;"),
        ]
        .into_iter()
        .map(|(name, text)| (module(name), references(text)))
        .collect(),
    );
    let arrows = |arrows: Arrows| -> Vec<String> {
        let pairs = arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{from} {to}")));
        pairs.collect()
    };
    assert_eq!(arrows(sources.file_arrows()), ["a b", "b a::inner"]);
    assert_eq!(arrows(sources.module_arrows()), ["a b", "b a"]);
}
