//! The help of the whole command: an overview that fits on a screen, a page for each group of options, and everything at once.
//!
//! The groups are headings in clap's definition of the command, so that the manual page and the completions have them too.

use std::io;

use clap::Command;

use super::command_error::{CommandError, Exit};
use super::suggest::nearest;

/// Options that have a page of their own: `crawler help NAME`.
#[derive(Debug)]
pub(super) struct HelpGroup {
    /// Its name on the command line; no command has it.
    pub(super) name: &'static str,
    /// Its heading.
    pub(super) title: &'static str,
    about: &'static str,
    /// Sections of `crawler.toml`, and single keys of other sections.
    keys: &'static [&'static str],
}

/// All groups, in the order of the help.
pub(super) const GROUPS: [HelpGroup; 15] = [
    HelpGroup {
        name: "crawl",
        title: "Seeds and limits",
        about: "Where the crawl starts, and when it ends",
        keys: &["crawl"],
    },
    HelpGroup { name: "scope", title: "Scope", about: "Which URLs belong to the crawl", keys: &["scope"] },
    HelpGroup {
        name: "politeness",
        title: "Politeness",
        about: "robots.txt, delays, connections and budgets of hosts",
        keys: &[
            "politeness.adaptive_share",
            "politeness.address_delay",
            "politeness.connections_per_address",
            "politeness.connections_per_host",
            "politeness.host_bytes",
            "politeness.host_delay",
            "politeness.host_pages",
            "politeness.purpose",
            "politeness.robots",
        ],
    },
    HelpGroup {
        name: "rate",
        title: "Rates and hours",
        about: "Requests and bytes a second, and times of day",
        keys: &["politeness.hours", "rate"],
    },
    HelpGroup {
        name: "fetch",
        title: "Requests",
        about: "What is sent and what is taken: headers, cookies, types, sizes",
        keys: &[
            "fetch.client",
            "fetch.contact",
            "fetch.cookies",
            "fetch.headers",
            "fetch.http1_only",
            "fetch.load_cookies",
            "fetch.max_bytes",
            "fetch.types",
            "fetch.user_agent",
        ],
    },
    HelpGroup {
        name: "signing",
        title: "Signatures",
        about: "Who signs the requests, for sites that want to know who asks",
        keys: &["identity"],
    },
    HelpGroup {
        name: "network",
        title: "Network",
        about: "Proxies, certificates, and addresses to connect to",
        keys: &[
            "fetch.allow_networks",
            "fetch.allow_private_addresses",
            "fetch.ca_files",
            "fetch.deny_networks",
            "fetch.insecure",
            "fetch.no_proxy",
            "fetch.proxy",
            "fetch.resolve_all_to",
        ],
    },
    HelpGroup {
        name: "links",
        title: "Links and sitemaps",
        about: "Where URLs are taken from",
        keys: &["parse", "sitemaps"],
    },
    HelpGroup {
        name: "filter",
        title: "URL-seen filter",
        about: "The filter's layout, size and error rate",
        keys: &["seen"],
    },
    HelpGroup {
        name: "job",
        title: "Job and recrawl",
        about: "The job's directory, and visiting pages again",
        keys: &["job", "output.visits", "recrawl"],
    },
    HelpGroup {
        name: "output",
        title: "Page records",
        about: "The file of page records, and which pages are in it",
        keys: &["output.format", "output.formulas", "output.pages", "output.status", "output.types", "output.urls"],
    },
    HelpGroup {
        name: "archive",
        title: "Archives and links",
        about: "Web archives, bodies, links, and refused links",
        keys: &["output.bodies", "output.links", "output.skipped", "output.warc", "output.warc_compression"],
    },
    HelpGroup {
        name: "watch",
        title: "Logs and live page",
        about: "Log, progress, report and live page",
        keys: &["dashboard", "output.json", "output.log", "output.log_file", "output.log_format", "output.progress"],
    },
    HelpGroup {
        name: "simulated",
        title: "Simulated web",
        about: "A simulated web on this machine, to try settings",
        keys: &["simulate"],
    },
    HelpGroup { name: "machines", title: "Many machines", about: "One crawl on many machines", keys: &["cluster"] },
];

/// The group of a setting.
pub(super) fn group_of(key: &str) -> Option<&'static HelpGroup> {
    GROUPS.iter().find(|group| group.has(key))
}

impl HelpGroup {
    fn has(&self, key: &str) -> bool {
        let section = key.split_once('.').map_or(key, |(section, _)| section);
        self.keys.contains(&key) || self.keys.contains(&section)
    }
}

/// The options that a first crawl needs.
const COMMON: [&str; 10] =
    ["config", "seeds", "max-pages", "scope", "depth", "host-delay", "contact", "job", "output", "simulate"];

/// Commands, and what they do; first the [few](FEW) that the overview shows.
pub(super) const EXAMPLES: [(&str, &str); 13] = [
    ("crawler https://example.org/", "one site, and no other host"),
    ("crawler --seeds seeds.txt --scope domain --depth 3", "sites and their subdomains, three links deep"),
    ("crawler --seeds seeds/simulated.txt --simulate", "a simulated web, without a network"),
    ("crawler resume crawl/", "continue a crawl that was stopped or killed"),
    ("crawler explain https://example.org/a --job crawl/", "why this URL was not fetched, or not yet"),
    ("crawler https://example.org/ --warc", "one site, kept as a web archive; its index: crawler cdxj crawl/"),
    ("crawler retry crawl/", "the pages that failed, once more"),
    ("crawler repair crawl/", "what is damaged in a job, and repair it; --yes does not ask"),
    ("crawler drop crawl/ --host example.org", "leave one host alone; --undo takes it back"),
    ("crawler config --host-delay 2s > slow.toml", "the settings in force, as a file for --config"),
    ("crawler stats crawl/ --filter", "what the seen filter lost, shard by shard"),
    ("crawler top crawl/", "watch a running crawl in the terminal; pause it, stop it"),
    ("crawler report crawl/ --open", "the report as a page, with charts"),
];
const FEW: usize = 5;

/// A command that takes at least this many options of groups does not list them all.
const MANY: usize = 12;

/// The overview of the command: all commands, the common options, the groups of the others, and examples.
pub(super) fn overview(command: Command) -> Command {
    let groups = GROUPS.map(|group| format!("  {:<12}{}\n", group.name, group.about)).concat();
    let examples = EXAMPLES[..FEW].iter().map(|(command, what)| format!("  {command:<54}{what}\n"));
    let examples = examples.collect::<Vec<_>>().concat();
    // The groups and examples are in the template itself, because clap would fold their columns.
    let template = format!(
        "{{about}}\nGive it URLs: it obeys robots.txt, waits between requests to a host, and can be stopped and resumed.\n\n\
         {{usage-heading}} {{usage}}\n\n\
         Commands (crawler help COMMAND):\n{{subcommands}}\n\n\
         Common options:\n{{options}}\n\n\
         Groups of options (crawler help GROUP; all, with exit codes: crawler help all):\n{groups}\nExamples:\n{examples}"
    );
    let page = command.help_template(template).mut_args(|arg| {
        let is_common = COMMON.contains(&arg.get_id().as_str());
        arg.hide(!is_common)
    });
    let mut brief = page.clone().disable_help_flag(true);
    let text = brief.render_help();
    page.override_help(text).mut_subcommands(without_groups)
}

/// A command with many options of groups shows the common ones, and says where the others are.
fn without_groups(command: Command) -> Command {
    let in_group =
        |group: &HelpGroup| command.get_arguments().filter(|arg| arg.get_help_heading() == Some(group.title)).count();
    if GROUPS.iter().map(in_group).sum::<usize>() < MANY {
        return command;
    }
    let names: Vec<_> = GROUPS.iter().filter(|group| in_group(group) > 0).map(|group| group.name).collect();
    let others = format!("Its other options are in these groups: {}. For each: crawler help GROUP", names.join(", "));
    let name = format!("crawler {}", command.get_name());
    let text = command.clone().bin_name(name).after_help(others).disable_help_flag(true).render_help();
    command.override_help(text)
}

/// Prints the help for these words: a command, a group, `all`, or the overview.
///
/// # Errors
/// If there is no such command or group, or if the help cannot be printed.
pub(super) fn help(command: Command, words: &[String]) -> Result<(), CommandError> {
    let mut page = page(command, words)?;
    match page.print_long_help() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::caused(Exit::Failed, "cannot print the help", &error))
        }
        _ => Ok(()),
    }
}

fn page(command: Command, words: &[String]) -> Result<Command, CommandError> {
    let Some((first, rest)) = words.split_first() else { return Ok(overview(command)) };
    if first == "all" && rest.is_empty() {
        return Ok(command);
    }
    if let Some(group) = GROUPS.iter().find(|group| group.name == first && rest.is_empty()) {
        return Ok(of_group(command, group));
    }
    let mut command = command.mut_subcommands(without_groups);
    command.build();
    let mut at = &command;
    for word in words {
        at = at.find_subcommand(word).ok_or_else(|| unknown(&command, words))?;
    }
    Ok(at.clone())
}

/// The options of one group.
fn of_group(command: Command, group: &HelpGroup) -> Command {
    command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .help_template("{before-help}{all-args}{after-help}")
        .before_long_help(format!("{}. In brackets: [key in crawler.toml = default].", group.about))
        .after_long_help("Other groups: crawler help. All keys of crawler.toml: crawler config --defaults")
        .mut_subcommands(|command| command.hide(true))
        .mut_args(|arg| {
            let is_other = arg.get_help_heading() != Some(group.title);
            arg.hide(is_other)
        })
}

fn unknown(command: &Command, words: &[String]) -> CommandError {
    let names = || command.get_subcommands().map(Command::get_name).chain(GROUPS.iter().map(|group| group.name));
    let asked = words.join(" ");
    let meant = nearest(&asked, names()).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let groups = GROUPS.map(|group| group.name).join(", ");
    CommandError::new(Exit::Usage, format!("there is no help for {asked:?}{meant}"))
        .and(format!("groups of options: {groups}, and all; commands: crawler help"))
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::super::arguments::command;
    use super::super::table::TABLE;
    use super::*;

    fn lines(mut page: Command) -> Vec<String> {
        page.render_long_help().to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_option_is_in_one_group() {
        for setting in TABLE.iter().filter(|setting| !setting.flags.is_empty()) {
            let names: Vec<_> = GROUPS.iter().filter(|group| group.has(setting.key)).map(|group| group.name).collect();
            assert_eq!(names.len(), 1, "{}: {names:?}", setting.key);
        }
        let pages: String = GROUPS.iter().map(|group| lines(of_group(command(), group)).join("\n") + "\n").collect();
        for arg in command().get_arguments() {
            let name = arg.get_long().map_or_else(|| "[URL]...".to_owned(), |long| format!("--{long}"));
            let is_it = |line: &&str| line.trim().split([' ', '.']).any(|word| word == name) && line.len() < 60;
            let times = pages.lines().filter(|line| line.trim_start().starts_with(['-', '['])).filter(is_it).count();
            assert!(times == 1 || name == "[URL]..." && pages.contains("[URL]..."), "{name}: {times} in\n{pages}");
        }
    }

    #[test]
    fn each_command_fits_a_screen_and_is_in_the_sorted_list() {
        let names: Vec<String> = command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        assert!(names.is_sorted(), "{names:?}");
        let overview = lines(overview(command()));
        let list = overview
            .iter()
            .skip_while(|line| !line.starts_with("Commands "))
            .skip(1)
            .map_while(|line| line.strip_prefix("  "));
        let listed: Vec<_> =
            list.map(|line| line.split(' ').next().unwrap().to_owned()).filter(|name| !name.is_empty()).collect();
        assert_eq!(listed, names);
        for name in names {
            let page = lines(page(command(), from_ref(&name)).unwrap());
            assert!(page.len() <= 75, "{name} has {} lines:\n{}", page.len(), page.join("\n"));
        }
    }

    #[test]
    fn each_group_fits_a_screen_and_no_command_has_its_name() {
        let commands: Vec<String> = command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        for group in &GROUPS {
            let page = lines(of_group(command(), group));
            assert!((8..=45).contains(&page.len()), "{} has {} lines:\n{}", group.name, page.len(), page.join("\n"));
            assert!(!commands.iter().any(|command| command == group.name), "{}", group.name);
        }
    }
}
