//! A process that does not outlive this one, however this one ends.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs the command that follows. Each line of its input names a signal to send to the command; when the input ends,
/// the command is killed. Its exit status is the command's.
const GUARD: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- & child=$!
{ while read -r signal <&3; do kill -"$signal" "$child"; done; kill -KILL "$child"; } 2>/dev/null & reader=$!
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
kill "$reader" 2>/dev/null
exit "$code"
"#;

/// A process under a shell that ends it once this process has ended: however that happens, the system then closes the
/// shell's input.
///
/// Both are in their own process group, so Ctrl-C at a terminal does not reach them before this process has decided
/// what to do.
#[derive(Debug)]
pub(super) struct Guarded {
    shell: Child,
    orders: Orders,
}

/// The shell's input, for signals. `None` once the process is killed.
#[derive(Clone, Debug)]
pub(super) struct Orders(Arc<Mutex<Option<ChildStdin>>>);

impl Guarded {
    /// Starts a program with these arguments and variables, and sends its output there.
    pub(super) fn start<S: AsRef<OsStr>>(
        program: &OsStr,
        arguments: &[S],
        variables: &[(&str, &str)],
        [out, err]: [Stdio; 2],
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARD, "sh"]).arg(program).args(arguments).envs(variables.iter().copied());
        let mut shell = command.process_group(0).stdin(Stdio::piped()).stdout(out).stderr(err).spawn()?;
        let orders = Orders(Arc::new(Mutex::new(shell.stdin.take())));
        Ok(Self { shell, orders })
    }

    /// Sends it signals, even while another thread waits for it.
    pub(super) fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Waits until it ends.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.shell.wait()
    }
}

impl Orders {
    /// Asks it to end: SIGTERM.
    pub(super) fn end(&self) {
        let mut input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has ended needs no order.
        _ = input.as_mut().map(|input| input.write_all(b"TERM\n"));
    }

    fn kill(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.orders.kill();
        _ = self.shell.wait();
    }
}
