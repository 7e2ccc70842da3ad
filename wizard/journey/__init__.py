"""The facade that the interfaces share, and their only access to the stages. No user interface, no SDK.

One function per operation of a stage, values in and values out.
Docstrings of blocking functions state how long they may take; asynchronous ones stream.
"""

# isort: off
from wizard.journey.chatting import (
    at as at,
    chat as chat,
    chat_with_tools as chat_with_tools,
    history as history,
    meter as meter,
    models as models,
    nearby as nearby,
    presets as presets,
    request as request,
    served as served,
    tools as tools,
    tools_file as tools_file,
)
from wizard.journey.examining import doctor as doctor
from wizard.journey.measuring import (
    bench as bench,
    bench_order as bench_order,
    bench_pages as bench_pages,
    benchmark as benchmark,
    benchmarks as benchmarks,
    compare as compare,
    compare_reports as compare_reports,
    compared as compared,
    comparison_pages as comparison_pages,
    load_generator as load_generator,
    open_report as open_report,
    tune as tune,
)
from wizard.journey.planning import (
    advise as advise,
    browse as browse,
    calibration as calibration,
    cases as cases,
    earlier_model as earlier_model,
    earlier_plan as earlier_plan,
    export as export,
    latest_plan as latest_plan,
    lint as lint,
    measure_cpu as measure_cpu,
    model as model,
    monitor as monitor,
    pareto as pareto,
    plan as plan,
    probe as probe,
    recipes as recipes,
    recommended as recommended,
    save_host as save_host,
    search as search,
    speed as speed,
    suggestions as suggestions,
    with_gguf as with_gguf,
    with_verdict as with_verdict,
)
from wizard.journey.scoring import (
    ballots as ballots,
    evaluator as evaluator,
    perplexity as perplexity,
    quality as quality,
    quality_pages as quality_pages,
    quality_report as quality_report,
    scores as scores,
)
from wizard.journey.serving import (
    attach as attach,
    build as build,
    building as building,
    cancel as cancel,
    care as care,
    clean as clean,
    diagnose as diagnose,
    endpoint as endpoint,
    images as images,
    install_service as install_service,
    logs as logs,
    made as made,
    remove_service as remove_service,
    run as run,
    service as service,
    statuses as statuses,
    stop as stop,
    stop_all as stop_all,
    verify as verify,
)
from wizard.journey.workshops import (
    bundle as bundle,
    bundle_install as bundle_install,
    bundle_outlook as bundle_outlook,
    bundle_verify as bundle_verify,
    join as join,
    leave as leave,
    room as room,
)
