//! Configuration keys as command-line options: one for each key of the table, and `--config`.
//!
//! Values are only collected here. The configuration interprets them together with the file and the environment.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::PathBuf;

use clap::builder::{PossibleValue, StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use portion_config::find::{Sources, UnreadableFile, find};
use portion_config::key::{Key, KeyGroup, SHORTHANDS, Shorthand, ValueKind};

/// Groups of keys that a command has options for.
pub(crate) trait KeyGroups: Clone + Debug + Send + Sync + 'static {
    /// Returns true for a group of the command.
    fn has(group: KeyGroup) -> bool;
}

/// Keys of a command that shapes one payload.
#[derive(Clone, Debug)]
pub(crate) struct PayloadKeys;

/// Keys of a command in front of one server.
#[derive(Clone, Debug)]
pub(crate) struct ServerKeys;

/// Keys of a command that listens.
#[derive(Clone, Debug)]
pub(crate) struct ListenerKeys;

/// Keys of the command in front of an API.
#[derive(Clone, Debug)]
pub(crate) struct ApiKeys;

impl KeyGroups for PayloadKeys {
    fn has(group: KeyGroup) -> bool {
        matches!(group, KeyGroup::Limits | KeyGroup::Payloads | KeyGroup::Replies)
    }
}

impl KeyGroups for ServerKeys {
    fn has(group: KeyGroup) -> bool {
        !matches!(group, KeyGroup::Servers | KeyGroup::Listeners)
    }
}

impl KeyGroups for ListenerKeys {
    fn has(group: KeyGroup) -> bool {
        group != KeyGroup::Servers
    }
}

impl KeyGroups for ApiKeys {
    fn has(group: KeyGroup) -> bool {
        !matches!(group, KeyGroup::Servers | KeyGroup::Tools)
    }
}

/// Configuration on the command line.
#[derive(Clone, Debug)]
pub(crate) struct ConfigOptions<K> {
    /// Value of `--config`.
    config: Option<PathBuf>,
    /// Names of keys and their values, in the order of the table.
    values: Vec<(String, String)>,
    keys: PhantomData<K>,
}

impl<K> ConfigOptions<K> {
    /// Returns the sources of the configuration: the file, the environment and these values.
    pub(crate) fn sources(&self) -> Result<Sources, UnreadableFile> {
        find(self.config.as_deref(), self.values.clone())
    }
}

/// Help text of `--config`.
pub(crate) const FILE_HELP: &str = "Configuration file (default: PORTION_CONFIG, or portion.yaml, .yml or .json in the \
                                    working directory or the user's configuration directory)";

/// Returns the argument `--config`, the same for all commands.
pub(crate) fn config_arg() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help_heading("Configuration")
        .help(FILE_HELP)
}

impl<K: KeyGroups> Args for ConfigOptions<K> {
    fn augment_args(command: Command) -> Command {
        let keyed = Key::all().filter(|key| K::has(key.group));
        let keyed = keyed.filter_map(|key| Some(key_arg(key, key.option()?)));
        let short = shorthands::<K>().map(|(short, group)| {
            Arg::new(short.option)
                .long(short.option)
                .help(short.doc)
                .help_heading(group.heading())
                .action(ArgAction::SetTrue)
        });
        command.arg(config_arg()).args(keyed).args(short)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<K: KeyGroups> FromArgMatches for ConfigOptions<K> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Vec::new();
        for (Shorthand { option, key, value, .. }, _) in shorthands::<K>() {
            if matches.get_flag(option) {
                given.push(((*key).to_owned(), (*value).to_owned()));
            }
        }
        for key in Key::all().filter(|key| K::has(key.group) && key.option().is_some()) {
            if matches.value_source(key.name) == Some(ValueSource::CommandLine) {
                let texts = matches.get_many::<String>(key.name).into_iter().flatten();
                given.extend(texts.map(|text| (key.name.to_owned(), text.clone())));
            }
        }
        Ok(Self { config: matches.get_one("config").cloned(), values: given, keys: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the shorthands of the keys of a command, with their groups.
fn shorthands<K: KeyGroups>() -> impl Iterator<Item = (&'static Shorthand, KeyGroup)> {
    let grouped = SHORTHANDS.iter().filter_map(|short| Some((short, short.group()?)));
    grouped.filter(|(_, group)| K::has(*group))
}

fn key_arg(key: &'static Key, option: String) -> Arg {
    let arg = Arg::new(key.name)
        .long(option)
        .value_name(key.value_name)
        .help(key.help())
        .help_heading(key.group.heading())
        .allow_negative_numbers(true)
        .value_parser(KeyParser(key))
        .hide_possible_values(true)
        .action(if key.is_repeatable() { ArgAction::Append } else { ArgAction::Set });
    match key.bare_value() {
        Some(value) => arg.num_args(0..=1).default_missing_value(value),
        None => arg,
    }
}

/// Parses a text as a value of the key.
#[derive(Clone, Copy)]
struct KeyParser(&'static Key);

impl TypedValueParser for KeyParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let text = value.to_string_lossy();
        let Err(why) = self.0.parse(&text) else { return Ok(text.into_owned()) };
        let mut error = Error::new(ErrorKind::ValueValidation).with_cmd(command);
        let option = arg.map(ToString::to_string).unwrap_or_default();
        error.insert(ContextKind::InvalidArg, ContextValue::String(option));
        // A URL may contain a secret.
        let shown = if self.0.kind.may_be_secret() { "…".to_owned() } else { text.into_owned() };
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(why)]));
        Err(error)
    }

    /// Returns the words of a choice, for completion scripts.
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let ValueKind::Choice(words) = self.0.kind else { return None };
        Some(Box::new(words.iter().map(|word| PossibleValue::new(*word))))
    }
}
