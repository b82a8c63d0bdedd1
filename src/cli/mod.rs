//! The command `crawler`: its arguments and settings, its subcommands, and the rules for its output.
//!
//! A command line becomes a request (`arguments`, `subcommands`). Defaults, `crawler.toml`, the environment and flags become settings
//! (`table`, `layers`, `settings`). [`main`] then calls the module of the request, which mostly has the name of the command: `crawl`,
//! `stats`, `explain`. Each prints by `output`, and fails with the errors of `command_error`.

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
mod rules;
mod seeds;
mod seen;
mod settings;
mod signals;
mod simulate;
mod stats;
mod subcommands;
mod suggest;
mod table;
mod toml_file;
mod top;
mod value;

use std::process::ExitCode;

use arguments::{CommandLine, Request};
use command_error::{CommandError, Exit};
use config::{of_job, of_job_kept, of_job_read, settings};
use output::print;

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
        Request::Broken { job, form, checks } => return broken::broken(line, job, *form, *checks),
        Request::Canonicalize { base } => lines::canonicalize(&settings(line)?.settings, base.as_deref())?,
        Request::Cdxj { of } => export::cdxj(of)?,
        Request::Cluster(request) => cluster::ask(&settings(line)?, request)?,
        Request::Completions { script } => print(|out| out.write_all(script))?,
        Request::Config { defaults: true } => print(|out| out.write_all(config::defaults().as_bytes()))?,
        Request::Config { defaults: false } => {
            let layers = settings(line)?.checked()?;
            crawl::check(&layers)?;
            print(|out| out.write_all(config::effective(&layers).as_bytes()))?;
        }
        Request::Crawl => return crawl::crawl(&settings(line)?.checked()?, false),
        Request::Dashboard { job, address, token } => dashboard::dashboard(line, job, *address, token.as_ref())?,
        Request::Diff { old, new, form } => diff::diff(line, old, new, *form)?,
        Request::Drop { of_cluster: true, rules, is_undone, .. } => cluster::drop_rules(line, rules, *is_undone)?,
        Request::Drop { job, rules, is_undone, .. } => drop_rules::drop_rules(job, rules, *is_undone)?,
        Request::Explain { urls, job, of_cluster: true, json } => cluster::explain(line, urls, job, *json)?,
        Request::Explain { urls, job, json, .. } => explain::explain(&of_job_read(line, job)?.checked()?, urls, *json)?,
        Request::Export { job, of, to, format } => {
            export::export(&settings(line)?, job, of, to.as_deref(), *format)?;
        }
        Request::Extract { from, rule } => document::extract(&settings(line)?.settings, from, rule.as_ref())?,
        Request::Help { of } => help::help(arguments::command(), of)?,
        Request::Man { of, to } => arguments::man(of.as_deref(), to.as_deref())?,
        Request::Merge(request) => merge::merge(&settings(line)?, request)?,
        Request::Numbers { like } => stats::explain_numbers(like)?,
        Request::Repair { job, yes } => return repair::repair(&of_job(line, job)?.checked()?, *yes),
        Request::Report { job, to, opens } => stats::report(line, job, to.as_deref(), *opens)?,
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
        Request::Simulate(request) => return simulate::simulate(&settings(line)?.checked()?, request),
        Request::Stats { jobs: crawls, of_cluster: true, form } => {
            crawls.iter().try_for_each(|crawl| cluster::stats(line, &crawl.display().to_string(), form))?;
        }
        Request::Stats { jobs, of_cluster: false, form } => stats::stats(line, jobs, form)?,
        Request::Top { job } => return top::top(line, job),
        Request::Unmet { old, new } => diff::unmet(old, new)?,
    }
    Ok(Exit::Done)
}
