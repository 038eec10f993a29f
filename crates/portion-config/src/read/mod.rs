//! From what was written to settings, gathering everything that is wrong on the way.

mod layer;
mod lines;
mod variables;

use std::sync::Arc;

pub(crate) use layer::{Layer, Rules, Served};
pub(crate) use lines::Lines;

use crate::document::{Document, EMPTY, Fault, Name, Node, Spot, Tree, json, yaml};
use crate::key::{Key, Kind, Level, Wrong};
use crate::origin::Origin;
use crate::problem::Problem;
use crate::settings::{Set, Settings};
use crate::sources::Sources;

/// By which a document names its schema, for editors.
const SCHEMA: &str = "$schema";

/// Unknown keys for which the one that was probably meant is looked for.
const TIPS: usize = 100;

/// What is read, and what was wrong with it so far.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    /// Lines of the file that may hold secrets, first and last.
    pub(crate) hidden: Vec<(usize, usize)>,
    /// Whether the file could be read as a whole.
    pub(crate) is_whole: bool,
}

/// Where a document stands.
#[derive(Clone)]
pub(super) enum From {
    File(Arc<str>),
    Variable(Arc<str>),
    Option(Arc<str>),
}

impl From {
    fn origin(&self, spot: Spot) -> Origin {
        match self {
            Self::File(file) => Origin::File(Arc::clone(file), spot.into()),
            Self::Variable(name) => Origin::Variable(Arc::clone(name)),
            Self::Option(name) => Origin::Option(Arc::clone(name)),
        }
    }
}

impl Reading {
    /// Everything that the sources say, what counts more over what counts less.
    pub(crate) fn layers(&mut self, sources: &Sources) -> Layer {
        self.is_whole = true;
        let mut layer = match &sources.file {
            Some((path, text)) => self.file(&path.display().to_string(), text),
            None => Layer::default(),
        };
        for above in [self.variables(&sources.variables), self.options(&sources.options)] {
            layer.overlay(above);
        }
        layer
    }

    fn file(&mut self, path: &str, text: &str) -> Layer {
        let file: Arc<str> = path.into();
        let is_json = path.rsplit('.').next().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let document = if is_json { json::read(text) } else { yaml::read(text) };
        let from = From::File(file);
        match document {
            Ok(Document { root, faults }) => {
                for fault in faults {
                    self.fault(&from, fault);
                }
                self.whole(&from, &root)
            }
            Err(fault) if fault.message == EMPTY => {
                self.warnings.push(Problem::new(from.origin(fault.spot), EMPTY, fault.fix));
                Layer::default()
            }
            Err(fault) => {
                self.is_whole = false;
                self.fault(&from, fault);
                Layer::default()
            }
        }
    }

    fn whole(&mut self, from: &From, root: &Node) -> Layer {
        match &root.tree {
            Tree::Map(entries) => self.layer(from, entries),
            Tree::Null => {
                let fix = "write {} to mean that";
                self.warnings.push(Problem::new(from.origin(root.spot), EMPTY, fix));
                Layer::default()
            }
            _ => {
                let message = format!("the file is {}, not a map", root.what());
                self.say(from.origin(root.spot), message, "write keys and values, such as hardCap: 12000");
                self.hidden.push((root.spot.line, root.last_line));
                Layer::default()
            }
        }
    }

    /// The settings of a map; what has a meaning of its own is given to `other`.
    fn settings(
        &mut self,
        from: &From,
        entries: &[(Name, Node)],
        level: Level,
        shown: bool,
        mut other: impl FnMut(&mut Self, &'static Key, &Node),
    ) -> Settings {
        let mut settings = Settings::default();
        for (name, node) in entries {
            if level == Level::Top && name.text == SCHEMA {
                continue;
            }
            let Some(key) = Key::named(&name.text).filter(|key| key.allowed(level)) else {
                self.unknown(from, name, level);
                self.hidden.push((name.spot.line, node.last_line));
                continue;
            };
            if matches!(key.kind, Kind::Endpoints | Kind::Upstreams) {
                other(self, key, node);
                continue;
            }
            if matches!(key.kind, Kind::Url | Kind::Webhook) {
                self.hidden.push((name.spot.line, node.last_line));
            }
            let value = match key.read(node) {
                Ok(value) => value,
                Err(wrong) => {
                    self.wrong(from, key, wrong, shown);
                    continue;
                }
            };
            let origin = from.origin(name.spot);
            if let Some(before) = settings.put(Set { key, value, origin: origin.clone() }) {
                let message =
                    format!("{} says the same as {}, at {}", key.name, before.key.name, before.origin);
                self.say(origin, message, "remove one of both");
            }
        }
        settings
    }

    fn unknown(&mut self, from: &From, name: &Name, level: Level) {
        let origin = from.origin(name.spot);
        let given = name.text.chars().take(60).collect::<String>().escape_debug().to_string();
        if let Some(key) = Key::named(&name.text) {
            let where_ = [Level::Top, Level::Upstream, Level::Endpoint]
                .into_iter()
                .filter(|level| key.allowed(*level));
            let where_ = where_.map(|level| level.to_string()).collect::<Vec<_>>().join(" or ");
            self.say(origin, format!("`{given}` cannot stand {level}"), format!("write it {where_}"));
        } else if given == "<<" {
            self.say(
                origin,
                "maps are not merged here",
                "give each its settings, or one pattern for all of them",
            );
        } else {
            // Whoever has so many keys wrong has another kind of file.
            let nearest = (self.problems.len() < TIPS).then(|| Key::nearest(&name.text, level)).flatten();
            let fix = match nearest {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "see `portion config schema` for those that there are".into(),
            };
            self.say(origin, format!("unknown key `{given}`"), fix);
        }
    }

    fn wrong(&mut self, from: &From, key: &Key, wrong: Vec<Wrong>, shown: bool) {
        for wrong in wrong {
            self.say(from.origin(wrong.spot), wrong.message(key.name, shown), wrong.fix);
        }
    }

    fn fault(&mut self, from: &From, fault: Fault) {
        self.say(from.origin(fault.spot), fault.message, fault.fix);
    }

    pub(crate) fn say(&mut self, at: Origin, message: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(Problem::new(at, message, fix));
    }
}
