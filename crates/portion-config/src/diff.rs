//! Lists the differences between two configurations, key by key.
//!
//! ```
//! use portion_config::{Config, Sources, diff};
//!
//! let load = |text: &str| {
//!     let file = Some(("portion.yaml".into(), text.to_owned()));
//!     Config::load(&Sources { file, ..Sources::default() }, 1).unwrap().0
//! };
//! let changes = diff(&load("hardCap: 9000"), &load("hardCap: 8000"));
//! assert_eq!((changes[0].key.as_str(), changes[0].new.as_deref()), ("hardCap", Some("8000")));
//! ```

use std::collections::BTreeMap;

use portion_core::event::ConfigChange;

use crate::config::Config;
use crate::key::{Key, SettingsLevel};
use crate::reference::Secret;
use crate::settings::Settings;
use crate::value::Value;

/// Placeholder for every secret.
const SECRET_PLACEHOLDER: &str = "\"(secret)\"";

/// The value of one key.
struct FlatSetting<'a> {
    value: FlatValue<'a>,
    is_reloadable: bool,
}

#[derive(PartialEq)]
enum FlatValue<'a> {
    Plain(&'a Value),
    Secret(&'a Secret),
}

/// Returns every changed key by its path: `endpoints.list_*.pageSize`. For secrets, the values are not
/// given.
pub fn diff(old: &Config, new: &Config) -> Vec<ConfigChange> {
    changes_with_reload(old, new).into_iter().map(|(change, _)| change).collect()
}

/// Returns the changes that need a restart: commands, listeners, secrets, names of tools.
pub fn restart_required(old: &Config, new: &Config) -> Vec<ConfigChange> {
    changes_with_reload(old, new)
        .into_iter()
        .filter(|(_, reloads)| !reloads)
        .map(|(change, _)| change)
        .collect()
}

fn changes_with_reload(old: &Config, new: &Config) -> Vec<(ConfigChange, bool)> {
    let (old, new) = (flatten(old), flatten(new));
    let mut changes = Vec::new();
    for (key, was) in &old {
        match new.get(key) {
            Some(is) if is.value == was.value => {}
            is => changes.push((key_change(key, Some(was), is), was.is_reloadable)),
        }
    }
    for (key, is) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        changes.push((key_change(key, None, Some(is)), is.is_reloadable));
    }
    // Writing down a default changes nothing; a value that is not shown may have changed even if it looks
    // the same.
    let both = |key: &str| old.contains_key(key) && new.contains_key(key);
    changes.retain(|(change, _)| change.old != change.new || both(&change.key));
    changes.sort_by(|(one, _), (other, _)| one.key.cmp(&other.key));
    changes
}

fn key_change(key: &str, old: Option<&FlatSetting<'_>>, new: Option<&FlatSetting<'_>>) -> ConfigChange {
    let json = |written: &FlatSetting<'_>| match &written.value {
        FlatValue::Plain(value) => value.to_json().to_string(),
        FlatValue::Secret(..) => SECRET_PLACEHOLDER.to_owned(),
    };
    let default_value = || default_json(key);
    ConfigChange {
        key: key.to_owned(),
        old: old.map(json).or_else(default_value),
        new: new.map(json).or_else(default_value),
    }
}

/// Returns the default of a key at the top level; at the other levels, the default is the value of the
/// level above.
fn default_json(key: &str) -> Option<String> {
    let key =
        Key::by_name(key).filter(|key| key.is_allowed_at(SettingsLevel::Top) && !key.default.is_empty())?;
    let json = key.parse(key.default).map_or_else(|_| key.default.into(), |value| value.to_json());
    Some(json.to_string())
}

fn flatten(config: &Config) -> BTreeMap<String, FlatSetting<'_>> {
    let mut out = BTreeMap::new();
    add_settings(&mut out, "", config.top());
    for (pattern, settings) in config.endpoints() {
        add_settings(&mut out, &format!("endpoints.{pattern}."), settings);
    }
    for upstream in config.upstreams() {
        let prefix = format!("upstreams.{}.", upstream.name);
        add_settings(&mut out, &prefix, &upstream.settings);
        for (pattern, settings) in upstream.endpoints() {
            add_settings(&mut out, &format!("{prefix}endpoints.{pattern}."), settings);
        }
    }
    out
}

fn add_settings<'a>(out: &mut BTreeMap<String, FlatSetting<'a>>, prefix: &str, settings: &'a Settings) {
    for (_, set) in settings.iter() {
        let (key, reloads) = (format!("{prefix}{}", set.key.name), set.key.is_reloadable);
        match &set.value {
            Value::Secrets(secrets) => {
                for (name, secret) in secrets {
                    let value = FlatValue::Secret(secret);
                    out.insert(format!("{key}.{name}"), FlatSetting { value, is_reloadable: reloads });
                }
            }
            value => {
                out.insert(key, FlatSetting { value: FlatValue::Plain(value), is_reloadable: reloads });
            }
        }
    }
}
