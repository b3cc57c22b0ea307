use crate::run::Run;

/// What a page costs, and what became of the pages.
pub fn speed(runs: &[(&'static str, Vec<Run>)]) {
    let bare = runs.iter().find(|(name, _)| *name == "bare").map(|(_, runs)| runs.as_slice());
    println!(
        "\n| contestant | pages | CPU s | CPU µs a page, median (best) | x bare, by rounds | pages/s | RSS peak MiB | pages lost | repeats | violations | first request ms |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (name, runs) in runs {
        let all = |value: fn(&Run) -> f64| -> Vec<f64> { runs.iter().map(value).collect() };
        let per_page = all(per_page);
        let ratios: Vec<f64> = bare.map_or_else(Vec::new, |bare| {
            runs.iter().zip(bare).map(|(run, bare)| self::per_page(run) / self::per_page(bare)).collect()
        });
        println!(
            "| {name}{} | {:.0} | {:.2} | {:.1} ({:.1}) | {:.2} | {:.0} | {:.1} | {:.0} | {:.0} | {} | {:.0} |",
            if runs.iter().all(|run| run.took.ended && !run.took.killed) { "" } else { " (did not end by itself)" },
            median(all(|run| run.seen.expected as f64)),
            median(all(|run| run.took.cpu_us / 1e6)),
            median(per_page.clone()),
            per_page.iter().copied().fold(f64::INFINITY, f64::min),
            median(ratios),
            median(all(|run| run.seen.fetched as f64 * 1e6 / run.seen.span_us)),
            median(all(|run| run.took.rss_kib / 1024.0)),
            most(all(|run| (run.seen.expected - run.seen.fetched) as f64)),
            most(all(|run| run.seen.repeats as f64)),
            // Who is told every URL asks nobody.
            if name.starts_with("bare") {
                "-".to_owned()
            } else {
                format!("{:.0}", most(all(|run| run.seen.violations as f64)))
            },
            median(all(|run| run.seen.first_request_us / 1e3)),
        );
    }
    let web: Vec<f64> =
        runs.iter().filter(|(name, _)| *name == "bare").flat_map(|(_, runs)| runs).map(web_per_page).collect();
    println!("\nThe web itself: {:.1} µs of CPU a page.", median(web));
}

/// Who keeps to what an origin announced.
pub fn polite(runs: &[(&'static str, Vec<Run>)]) {
    println!("\n| contestant | requests for pages | violations | of which | slots used | tightest gap / delay |");
    println!("| --- | ---: | ---: | --- | ---: | ---: |");
    for (name, runs) in runs {
        for run in runs {
            let seen = &run.seen;
            let kinds: Vec<String> = seen.counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            println!(
                "| {name} | {} | {} | {} | {:.1} % | {} |",
                seen.fetched + seen.repeats,
                seen.violations,
                kinds.join(", "),
                100.0 * seen.slots_used as f64 / seen.slots_offered.max(1) as f64,
                seen.tightest.map_or_else(String::new, |part| format!("{part:.3}")),
            );
        }
    }
}

fn per_page(run: &Run) -> f64 {
    run.took.cpu_us / run.seen.fetched.max(1) as f64
}

fn web_per_page(run: &Run) -> f64 {
    run.seen.web_cpu_us / run.seen.fetched.max(1) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn most(values: Vec<f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}
