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

use std::collections::{BTreeMap, BTreeSet};

use portion_core::event::ConfigChange;

use crate::config::Config;
use crate::key::{Key, SettingsLevel};
use crate::settings::Settings;
use crate::value::Value;

/// Placeholder for every secret.
const SECRET_PLACEHOLDER: &str = "\"(secret)\"";

/// The value of one key. A secret is compared, but not shown.
struct FlatSetting {
    value: Value,
    shown: String,
    is_reloadable: bool,
}

/// Returns every changed key by its path: `endpoints.list_*.pageSize`. For secrets, the values are not
/// given.
pub fn diff(old: &Config, new: &Config) -> Vec<ConfigChange> {
    changes_with_reload(old, new).into_iter().map(|(change, _)| change).collect()
}

/// Returns the changes that need a restart: commands, listeners, secrets, names of tools.
pub fn restart_required(old: &Config, new: &Config) -> Vec<ConfigChange> {
    let changes = changes_with_reload(old, new).into_iter();
    changes.filter_map(|(change, reloads)| (!reloads).then_some(change)).collect()
}

fn changes_with_reload(old: &Config, new: &Config) -> Vec<(ConfigChange, bool)> {
    let (old, new) = (flatten(old), flatten(new));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |key: &String| {
        let (was, is) = (old.get(key), new.get(key));
        let shown =
            |set: Option<&FlatSetting>| set.map(|set| set.shown.clone()).or_else(|| default_json(key));
        let change = ConfigChange { key: key.clone(), old: shown(was), new: shown(is) };
        let is_change = match (was, is) {
            // A value that is not shown may have changed even if it looks the same.
            (Some(was), Some(is)) => was.value != is.value,
            // Writing down a default changes nothing.
            _ => change.old != change.new,
        };
        is_change.then_some((change, was.or(is)?.is_reloadable))
    };
    keys.into_iter().filter_map(change).collect()
}

/// Returns the default of a key at the top level; at the other levels, the default is the value of the
/// level above.
fn default_json(key: &str) -> Option<String> {
    let key =
        Key::by_name(key).filter(|key| key.is_allowed_at(SettingsLevel::Top) && !key.default.is_empty())?;
    let json = key.parse(key.default).map_or_else(|_| key.default.into(), |value| value.to_json());
    Some(json.to_string())
}

fn flatten(config: &Config) -> BTreeMap<String, FlatSetting> {
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

fn add_settings(out: &mut BTreeMap<String, FlatSetting>, prefix: &str, settings: &Settings) {
    for (_, set) in settings.iter() {
        let (key, is_reloadable) = (format!("{prefix}{}", set.key.name), set.key.is_reloadable);
        if let Value::Secrets(secrets) = &set.value {
            for (name, secret) in secrets {
                let (value, shown) = (Value::Reference(secret.clone()), SECRET_PLACEHOLDER.to_owned());
                out.insert(format!("{key}.{name}"), FlatSetting { value, shown, is_reloadable });
            }
        } else {
            let (value, shown) = (set.value.clone(), set.value.to_json().to_string());
            out.insert(key, FlatSetting { value, shown, is_reloadable });
        }
    }
}
