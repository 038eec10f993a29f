//! The configuration as options: one for each key of its table, and the file.
//!
//! What is given is only taken down here. The configuration decides what it means, beside the file and the environment.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use clap::builder::{StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use portion_config::key::{Group, Key, Kind, SHORTHANDS, Shorthand};

/// Which keys a command has options for.
pub(crate) trait Keys: Clone + Debug + Send + Sync + 'static {
    /// By what they belong to.
    const GROUPS: &'static [Group];
}

/// All that shapes replies.
const SHAPES: [Group; 4] = [Group::Limits, Group::Payloads, Group::Replies, Group::Log];

/// Keys of a command that shapes one payload.
#[derive(Clone, Debug)]
pub(crate) struct OfPayload;

/// Keys of a command in front of one server.
#[derive(Clone, Debug)]
pub(crate) struct OfServer;

/// Keys of a command that listens.
#[derive(Clone, Debug)]
pub(crate) struct OfListener;

impl Keys for OfPayload {
    const GROUPS: &'static [Group] = &SHAPES;
}

impl Keys for OfServer {
    const GROUPS: &'static [Group] = &[
        SHAPES[0],
        Group::Keeping,
        SHAPES[1],
        SHAPES[2],
        Group::Rollout,
        Group::Tools,
        SHAPES[3],
        Group::Alerts,
    ];
}

impl Keys for OfListener {
    const GROUPS: &'static [Group] = &[
        SHAPES[0],
        Group::Keeping,
        SHAPES[1],
        SHAPES[2],
        Group::Rollout,
        Group::Tools,
        Group::Listeners,
        SHAPES[3],
        Group::Alerts,
    ];
}

/// What was given of the configuration on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Options<K> {
    /// The file.
    config: Option<PathBuf>,
    /// Keys and texts, in the order of the table.
    given: Vec<(String, String)>,
    keys: PhantomData<K>,
}

impl<K> Options<K> {
    /// The file that is named.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// What was given, by key.
    pub(crate) fn given(&self) -> Vec<(String, String)> {
        self.given.clone()
    }
}

/// What is said of the option that names the file.
pub(crate) const FILE_HELP: &str = "The configuration file (default: PORTION_CONFIG, or portion.yaml, .yml or .json in the \
                                    working directory or the user's configuration directory)";

/// The option that names the file, the same for every command.
pub(crate) fn config() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help_heading("Configuration")
        .help(FILE_HELP)
}

impl<K: Keys> Args for Options<K> {
    fn augment_args(command: Command) -> Command {
        let keyed = Key::all().filter(|key| K::GROUPS.contains(&key.group));
        let keyed = keyed.filter_map(|key| Some(arg(key, key.option()?)));
        let short = SHORTHANDS.iter().map(|short| {
            Arg::new(short.option)
                .long(short.option)
                .help(short.doc)
                .help_heading(Group::Limits.heading())
                .action(ArgAction::SetTrue)
        });
        command.arg(config()).args(keyed).args(short)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<K: Keys> FromArgMatches for Options<K> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Vec::new();
        for Shorthand { option, key, value, .. } in SHORTHANDS {
            if matches.get_flag(option) {
                given.push(((*key).to_owned(), (*value).to_owned()));
            }
        }
        for key in Key::all().filter(|key| K::GROUPS.contains(&key.group) && key.option().is_some()) {
            if matches.value_source(key.name) == Some(ValueSource::CommandLine) {
                let texts = matches.get_many::<String>(key.name).into_iter().flatten();
                given.extend(texts.map(|text| (key.name.to_owned(), text.clone())));
            }
        }
        Ok(Self { config: matches.get_one("config").cloned(), given, keys: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn arg(key: &'static Key, option: String) -> Arg {
    let arg = Arg::new(key.name)
        .long(option)
        .value_name(key.value_name)
        .help(key.help())
        .help_heading(key.group.heading())
        .allow_negative_numbers(true)
        .value_parser(Parser(key))
        .action(if key.repeats() { ArgAction::Append } else { ArgAction::Set });
    match key.bare() {
        Some(value) => arg.num_args(0..=1).default_missing_value(value),
        None => arg,
    }
}

/// Takes a text that the key can be.
#[derive(Clone, Copy)]
struct Parser(&'static Key);

impl TypedValueParser for Parser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let text = value.to_string_lossy();
        let Err(why) = self.0.parse(&text) else { return Ok(text.into_owned()) };
        let mut error = Error::new(ErrorKind::ValueValidation).with_cmd(command);
        let option = arg.map(ToString::to_string).unwrap_or_default();
        error.insert(ContextKind::InvalidArg, ContextValue::String(option));
        // A URL may be secret.
        let shown = if self.0.kind == Kind::Url { "…".to_owned() } else { text.into_owned() };
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(why)]));
        Err(error)
    }
}
