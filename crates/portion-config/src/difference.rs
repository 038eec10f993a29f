//! What is different between two configurations, key by key.

use std::collections::BTreeMap;

use portion_core::event::Change;

use crate::config::Config;
use crate::key::{Key, Level};
use crate::reference::Secret;
use crate::settings::Settings;
use crate::value::Value;

/// In place of a secret, whatever it is.
const SECRET: &str = "\"(secret)\"";

/// What was written for one key.
struct Written<'a> {
    value: Entry<'a>,
    reloads: bool,
}

#[derive(PartialEq)]
enum Entry<'a> {
    Shown(&'a Value),
    Secret(&'a Secret),
}

/// Every key whose value is another one, by its place: `endpoints.list_*.pageSize`. Of secrets it is told that they
/// changed.
pub fn diff(old: &Config, new: &Config) -> Vec<Change> {
    changes(old, new).into_iter().map(|(change, _)| change).collect()
}

/// Those that are not obeyed before a restart: commands, listeners, secrets, names of tools.
pub fn waiting(old: &Config, new: &Config) -> Vec<Change> {
    changes(old, new).into_iter().filter(|(_, reloads)| !reloads).map(|(change, _)| change).collect()
}

fn changes(old: &Config, new: &Config) -> Vec<(Change, bool)> {
    let (old, new) = (flattened(old), flattened(new));
    let mut changes = Vec::new();
    for (key, was) in &old {
        match new.get(key) {
            Some(is) if is.value == was.value => {}
            is => changes.push((change(key, Some(was), is), was.reloads)),
        }
    }
    for (key, is) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        changes.push((change(key, None, Some(is)), is.reloads));
    }
    // A default that is written down changes nothing; what is not shown may be another all the same.
    let both = |key: &str| old.contains_key(key) && new.contains_key(key);
    changes.retain(|(change, _)| change.old != change.new || both(&change.key));
    changes.sort_by(|(one, _), (other, _)| one.key.cmp(&other.key));
    changes
}

fn change(key: &str, old: Option<&Written<'_>>, new: Option<&Written<'_>>) -> Change {
    let json = |written: &Written<'_>| match &written.value {
        Entry::Shown(value) => value.json().to_string(),
        Entry::Secret(..) => SECRET.to_owned(),
    };
    let usual = || default(key);
    Change { key: key.to_owned(), old: old.map(json).or_else(usual), new: new.map(json).or_else(usual) }
}

/// What is in force where nobody wrote anything, for what stands at the top: elsewhere, that is what was written above.
fn default(key: &str) -> Option<String> {
    let key = Key::named(key).filter(|key| key.allowed(Level::Top) && !key.default.is_empty())?;
    let json = key.parse(key.default).map_or_else(|_| key.default.into(), |value| value.json());
    Some(json.to_string())
}

fn flattened(config: &Config) -> BTreeMap<String, Written<'_>> {
    let mut out = BTreeMap::new();
    add(&mut out, "", config.top());
    for (pattern, settings) in config.endpoints() {
        add(&mut out, &format!("endpoints.{pattern}."), settings);
    }
    for upstream in config.upstreams() {
        let prefix = format!("upstreams.{}.", upstream.name);
        add(&mut out, &prefix, &upstream.settings);
        for (pattern, settings) in upstream.endpoints() {
            add(&mut out, &format!("{prefix}endpoints.{pattern}."), settings);
        }
    }
    out
}

fn add<'a>(out: &mut BTreeMap<String, Written<'a>>, prefix: &str, settings: &'a Settings) {
    for (_, set) in settings.iter() {
        let (key, reloads) = (format!("{prefix}{}", set.key.name), set.key.reloads);
        match &set.value {
            Value::Secrets(secrets) => {
                for (name, secret) in secrets {
                    let value = Entry::Secret(secret);
                    out.insert(format!("{key}.{name}"), Written { value, reloads });
                }
            }
            value => {
                out.insert(key, Written { value: Entry::Shown(value), reloads });
            }
        }
    }
}
