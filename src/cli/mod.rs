//! The command `crawler`: its arguments and settings, its subcommands, and the rules for its output.
//!
//! A command line becomes a request (`arguments`, `request`). Defaults, `crawler.toml`, the environment and flags become settings
//! (`table`, `layers`, `settings`). `run` then calls the module of the request, which mostly has the name of the command: `crawl`,
//! `stats`, `explain`. Each module prints through `output`, and fails with the errors of `command_error`.

mod arguments;
mod broken;
mod cluster;
mod command_error;
mod config;
mod crawl;
mod crew;
mod dashboard;
#[cfg(unix)]
mod dev_cluster;
mod diff;
mod document;
mod drop_rules;
mod ending;
mod explain;
mod export;
mod field;
mod help;
mod identity;
mod job_file;
mod layers;
mod line_block;
mod lines;
mod live;
mod log;
mod merge;
mod output;
#[cfg(feature = "parquet")]
mod parquet_table;
mod progress;
mod record_file;
mod record_table;
mod repair;
mod request;
mod rules;
mod seeds;
mod seen;
mod serve;
mod settings;
mod signals;
mod simulate;
mod stats;
mod suggest;
mod table;
mod toml_file;
mod top;
mod value;

use std::process::ExitCode;

use crate::gate::DropRule;
use arguments::CommandLine;
use command_error::{CommandError, Exit};
use config::{of_job, of_job_kept, of_job_read, settings};
use output::print;
use request::Request;

/// Runs the command with this process's arguments, environment and streams.
#[must_use]
pub fn main() -> ExitCode {
    signals::outlive();
    let exit = CommandLine::parse(std::env::args_os()).map_or_else(
        |exit| exit,
        |line| {
            run(&line).unwrap_or_else(|failure| {
                output::complain(&failure);
                failure.exit
            })
        },
    );
    exit.into()
}

fn run(line: &CommandLine) -> Result<Exit, CommandError> {
    match &line.request {
        Request::Broken { job, format, check } => return broken::broken(line, job, *format, *check),
        Request::Canonicalize { base } => lines::canonicalize(&settings(line)?.settings, base.as_deref())?,
        Request::Cdxj { of } => export::cdxj(of)?,
        Request::Cluster(request) => cluster::ask(&settings(line)?, request)?,
        Request::Completions { shell } => print(|out| out.write_all(&arguments::completions(*shell)))?,
        Request::Config { defaults: true } => print(|out| out.write_all(config::defaults().as_bytes()))?,
        Request::Config { defaults: false } => {
            let layers = settings(line)?.checked()?;
            crawl::check(&layers)?;
            print(|out| out.write_all(config::effective(&layers).as_bytes()))?;
        }
        Request::Crawl => return crawl::crawl(&settings(line)?.checked()?, false),
        Request::Dashboard { job, listen, token } => dashboard::dashboard(line, job, *listen, token.as_ref())?,
        Request::Diff { old, new, json, pages } => diff::diff(line, old, new, *json, *pages)?,
        Request::Drop { job, host, urls, undo } => {
            let hosts = host.iter().cloned().map(DropRule::Host);
            let rules: Vec<_> = hosts.chain(urls.iter().cloned().map(DropRule::Urls)).collect();
            if line.is_of_cluster() {
                cluster::drop_rules(line, &rules, *undo)?;
            } else {
                drop_rules::drop_rules(job, &rules, *undo)?;
            }
        }
        Request::Explain { urls, job, json } if line.is_of_cluster() => cluster::explain(line, urls, job, *json)?,
        Request::Explain { urls, job, json } => explain::explain(&of_job_read(line, job)?.checked()?, urls, *json)?,
        Request::Export { job, of, file } => export::export(&settings(line)?, job, of, file)?,
        Request::Extract { from, selection } => {
            document::extract(&settings(line)?.settings, from, selection.rule().as_ref())?;
        }
        Request::Help { of } => help::help(arguments::command(), of)?,
        Request::Identity(request) => identity::identity(&settings(line)?.settings, request)?,
        Request::Man { of, output } => arguments::man(of.as_deref(), output.as_deref())?,
        Request::Merge(request) => merge::merge(&settings(line)?, request)?,
        Request::Numbers { like } => stats::explain_numbers(like)?,
        Request::Repair { job, yes } => return repair::repair(&of_job(line, job)?.checked()?, *yes),
        Request::Report { job, output, open } => stats::report(line, job, output.as_deref(), *open)?,
        Request::Resume { job } => return crawl::crawl(&of_job(line, job)?.checked()?, false),
        Request::Retry { job } => return crawl::crawl(&of_job(line, job)?.checked()?, true),
        Request::Robots { file, agent } => lines::robots(file, agent)?,
        Request::Schema { of } => stats::schema(*of)?,
        Request::Sitemap { from, base, json } => {
            document::sitemap(&settings(line)?.settings, from, base.as_deref(), *json)?;
        }
        Request::Seen(request) => {
            let layers = request.job().map_or_else(|| settings(line), |job| of_job_kept(line, job, true))?;
            seen::run(request, &layers.settings)?;
        }
        Request::Serve(request) => serve::serve(request)?,
        Request::Simulate(request) => return simulate::simulate(&settings(line)?.checked()?, request),
        Request::Stats { job: crawls, form } if line.is_of_cluster() => {
            crawls.iter().try_for_each(|crawl| cluster::stats(line, &crawl.display().to_string(), form))?;
        }
        Request::Stats { job, form } => stats::stats(line, job, form)?,
        Request::Top { job } => return top::top(line, job),
        Request::Unmet { old, new } => diff::unmet(old, new)?,
    }
    Ok(Exit::Done)
}
