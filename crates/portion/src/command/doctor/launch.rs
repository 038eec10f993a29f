//! How a client starts a server: the program with its arguments, variables and working directory.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portion_install::invocation::{Installed, Invocation, recognise};
use portion_mcp::upstream::stdio::Program;

use super::clients::ClientServer;
use super::finding::shell_path;
use super::reference::{hide, is_secret, resolve, secret_values, to_shell, without_secrets};
use crate::cli::launcher::Installation;

/// Variables with which Portion writes no record, exports nothing and raises no alert.
const NO_TELEMETRY: [(&str, &str); 3] =
    [("PORTION_TELEMETRY", "off"), ("PORTION_OTLP", "off"), ("PORTION_ALERT_OVERSIZED", "off")];

/// A server, ready to be started.
#[derive(Debug)]
pub(super) struct Launch {
    words: Vec<String>,
    env: Vec<(String, String)>,
    cwd: Option<PathBuf>,
    /// Index of the server's own program among the words.
    own_index: usize,
}

/// Reason that a server is not started.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LaunchError {
    /// The entry refers to values that only the client knows.
    Unknown(String),
    /// The client cannot start it either.
    Invalid(String),
}

/// Returns why a path cannot be used as a directory, as the end of a sentence; `None` if it can.
pub(super) fn directory_problem(path: &Path) -> Option<String> {
    match path.metadata() {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some("is not a directory".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("does not exist".into()),
        Err(error) => Some(format!("cannot be read: {error}")),
    }
}

impl Launch {
    /// Resolves an entry, as its client does.
    ///
    /// # Errors
    /// Returns why the server cannot be started.
    pub(super) fn new(server: &ClientServer) -> Result<Self, LaunchError> {
        let resolved =
            |text: &String| resolve(text, &server.project, &server.env).map_err(LaunchError::Unknown);
        let words = server.words.iter().map(resolved).collect::<Result<Vec<_>, _>>()?;
        let cwd = match &server.cwd {
            Some(cwd) => Some(server.project.join(resolved(cwd)?)),
            None => server.has_scope.then(|| server.project.clone()).filter(|project| project.is_dir()),
        };
        if let Some((cwd, problem)) = cwd.as_ref().and_then(|cwd| Some((cwd, directory_problem(cwd)?))) {
            let message = format!("its working directory {} {problem}", cwd.display());
            return Err(LaunchError::Invalid(message));
        }
        let mut env = match &server.env_file {
            Some(file) => read_env_file(&server.project.join(resolved(file)?))?,
            None => Vec::new(),
        };
        for (name, value) in &server.env {
            let value = resolve(value, &server.project, &[]).map_err(LaunchError::Unknown)?;
            env.push((name.clone(), value));
        }
        Ok(Self { own_index: own_index(&server.words), words, env, cwd })
    }

    /// Checks that the program exists, and the one behind Portion.
    ///
    /// # Errors
    /// Returns the one that does not, and how to mend it.
    pub(super) fn check_programs(&self) -> Result<(), String> {
        let directory = self.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        let own = (self.own_index > 0).then(|| self.words.get(self.own_index)).flatten();
        for name in self.words.first().into_iter().chain(own) {
            // A relative path depends on the working directory.
            let is_bare = Path::new(name).components().count() == 1;
            let path = if is_bare { PathBuf::from(name) } else { directory.join(name) };
            let environment = self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
            let program = Program { environment, ..Program::new(path, [""; 0]) };
            program.look_up().map_err(|error| self.without_secrets(&error.to_string()))?;
        }
        Ok(())
    }

    /// Installs the package of a server that starts by a launcher.
    pub(super) fn install(&self) {
        let own = self.words.get(self.own_index..).unwrap_or_default();
        if let Some(installation) = Installation::of(own) {
            installation.run(|command| {
                command.envs(self.env.iter().map(|(name, value)| (name, value)));
                if let Some(cwd) = &self.cwd {
                    command.current_dir(cwd);
                }
            });
        }
    }

    /// Returns the command. Its stderr is piped.
    pub(super) fn command(&self) -> Command {
        let (program, args) =
            self.words.split_first().map_or(("", [].as_slice()), |(name, args)| (name, args));
        let mut command = Command::new(Program::new(program, args).executable());
        command.args(args).stderr(Stdio::piped());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.envs(NO_TELEMETRY);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command
    }

    /// Returns a text of the server, such as its stderr, without the secrets of its entry.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        hide(&secret_values(&self.words, &self.env), text)
    }

    /// Returns the command line, for a shell, that starts the server without Portion, and so shows its own messages.
    ///
    /// Secrets of the entry are not shown: the shell takes them from variables of the same names, and says if they are
    /// not set.
    pub(super) fn own_line(&self, server: &ClientServer) -> String {
        let mut line = String::new();
        if let Some(cwd) = &self.cwd {
            line = format!("cd {} && ", shell_path(cwd));
        }
        if let Some(file) = &server.env_file {
            let file = resolve(file, &server.project, &[]).unwrap_or_else(|_| file.clone());
            let file = shell_path(&server.project.join(file));
            let _ = write!(line, "set -a && . {file} && set +a && ");
        }
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !server.env.iter().all(|(name, _)| is_name(name)) {
            // A shell takes only some names before a command.
            line.push_str("env ");
        }
        for (name, value) in &server.env {
            let is_secret = is_secret(name, value);
            let value =
                if is_secret { format!("\"${{{name}:?}}\"") } else { to_shell(value, &server.project) };
            let _ = write!(line, "{name}={value} ");
        }
        let words = server.words.get(self.own_index..).unwrap_or_default();
        let words = without_secrets(words).into_iter().map(|word| to_shell(&word, &server.project));
        line + &words.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the index of the server's own program among the words of an entry.
fn own_index(words: &[String]) -> usize {
    let Some((program, args)) = words.split_first() else { return 0 };
    match recognise(program, args) {
        Invocation::Installed(Installed { program_index: Some(at), .. }) => at + 1,
        Invocation::Installed(_) | Invocation::Direct | Invocation::Manual => 0,
    }
}

fn read_env_file(file: &Path) -> Result<Vec<(String, String)>, LaunchError> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| {
        LaunchError::Invalid(format!("its envFile {} cannot be read: {error}", file.display()))
    })?;
    Ok(env_file_variables(&text))
}

/// Returns the variables of a file, in its order: `NAME=value`, with comments, `export` and quotes.
fn env_file_variables(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        Some((name.trim().to_owned(), unquoted(value.trim())))
    };
    text.trim_start_matches('\u{feff}').lines().filter_map(line).collect()
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return if quote == '"' { inside.replace("\\n", "\n") } else { inside.to_owned() };
        }
    }
    // A comment may follow an unquoted value.
    value.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(words: &[&str]) -> ClientServer {
        ClientServer {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            project: "/".into(),
            ..ClientServer::default()
        }
    }

    #[test]
    fn a_command_line_keeps_the_environment() {
        let wrapped = server(&["/opt/portion", "wrap", "--server", "a", "--", "node", "${env:FILE}", "a b"]);
        let env = [("MODE", "x y"), ("API_KEY", "s3cret"), ("TOKEN", "${TOKEN}")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let wrapped = ClientServer { env, env_file: Some("${workspaceFolder}.env".into()), ..wrapped };
        let launch = Launch {
            words: wrapped.words.clone(),
            env: Vec::new(),
            cwd: Some("/my dir".into()),
            own_index: own_index(&wrapped.words),
        };
        assert_eq!(
            launch.own_line(&wrapped),
            "cd '/my dir' && set -a && . /.env && set +a && MODE='x y' API_KEY=\"${API_KEY:?}\" TOKEN=\"${TOKEN}\" \
             node \"${FILE}\" 'a b'"
        );
    }

    #[test]
    fn what_a_client_cannot_start_is_said() {
        let check = |server: ClientServer, expect: &str| {
            let LaunchError::Invalid(message) = Launch::new(&server).expect_err(expect) else {
                panic!("{expect}")
            };
            assert!(message.contains(expect), "{message}");
        };
        check(ClientServer { cwd: Some("no/such".into()), ..server(&["x"]) }, "/no/such does not exist");
        check(
            ClientServer { cwd: Some("/dev/null".into()), ..server(&["x"]) },
            "/dev/null is not a directory",
        );
        check(
            ClientServer { cwd: Some("/dev/null/a".into()), ..server(&["x"]) },
            "/dev/null/a cannot be read: Not a dir",
        );
        check(
            ClientServer { env_file: Some("no.env".into()), ..server(&["x"]) },
            "its envFile /no.env cannot be read",
        );
        let unknown = server(&["x", "${input:key}"]);
        assert_eq!(
            Launch::new(&unknown).err(),
            Some(LaunchError::Unknown("only its client knows ${input:key}".into()))
        );
        let missing = Launch::new(&server(&["portion-no-such", "x"])).expect("no references");
        assert!(missing.check_programs().is_err_and(|why| why.contains("not found on PATH")));
    }

    #[test]
    fn variables_are_read() {
        let text = "# keys\nA=1\n export B = two words # last\nC='#3'\nD=\"a\\nb\"\nE=\nno value\n";
        let expect = [("A", "1"), ("B", "two words"), ("C", "#3"), ("D", "a\nb"), ("E", "")];
        let found = env_file_variables(text);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expect);
    }
}
