"""The signals of intent, as data: what is looked for in a prompt, what it speaks for, and how much.

Patterns are written as `matcher` reads them. Each row has a strength, judged when it was written, and a weight, which
`scripts/fit_intent` has fitted, with a pull towards the strength, to the project's own prompts (tests/data/intent) and to real
ones. A weight is never negative: a signal speaks for its family or not at all. What speaks for `none` speaks against the rest;
what is of the family `seeking` speaks against `none`.
"""

from subcog_hooks.intent.kinds import COMPARISON, EXPLANATION, GENERAL, HOWTO, LOCATION, NONE, SEEKING, TROUBLESHOOT

# what one signal is expected to add to its family's logit; families of weighted signals: S0
CERTAIN, STRONG, MEDIUM, WEAK = 3.5, 1.5, 1.0, 0.5

CLASSES = {
    name: frozenset(words.split())
    for name, words in {
        "fault": """
            error errors err exception exceptions traceback stacktrace crash crashes crashed crashing segfault segmentation
            bug bugs buggy broken breaks broke break breaking failure failures fail fails failed failing flaky glitch
            glitches glitchy hang hangs hanging hung freeze freezes freezing frozen stuck timeout timeouts panic panics
            panicked deadlock leak leaks sigkill sigsegv sigterm oomkilled econnrefused econnreset enoent eacces etimedout
            mismatched crashloop leaking regression corrupt corrupted oom typeerror syntaxerror referenceerror
            nullpointerexception valueerror keyerror importerror modulenotfounderror attributeerror issue issues problem
            problems warning warnings complains complaining wrong incorrect incorrectly weird weirdly odd oddly strange
            messed missing invalid unexpected unexpectedly misaligned overlap overlaps overlapping overlapped garbled laggy
            jerky jumpy flicker flickers flickering blank inconsistent intermittent vanishes vanished disappears disappeared
            unresponsive unreadable infinite conflict conflicts conflicting mismatch undefined null nan 404 500 403 401 502
            refused denied rejected unauthorized forbidden
            """,
        "negation": """
            not isnt arent wasnt werent doesnt dont didnt wont wouldnt cant cannot couldnt hasnt havent shouldnt never
            nothing
            """,
        "contracted": "dont isnt arent wasnt werent doesnt didnt wont hasnt havent cant cannot couldnt",
        "function": """
            work works working worked load loads loading loaded show shows showing shown appear appears appearing display
            displays displaying displayed open opens opening render renders rendering update updates updating updated
            respond responds responding connect connects connecting connected connection match matches matching compile
            compiles build builds start starts starting run runs running find finds found see seeing seen save saves saving
            saved correct correctly right properly proper change changed changing visible aligned align sync syncing synced
            send sends sending sent receive receives trigger triggers triggered fire fires happen happens happening exist
            exists recognized recognised defined enabled available installed play plays playing pass passes passing fit fits
            scroll scrolls close closes get gets getting sense expected fixed fix login log sign notify redirect redirecting
            return returns returning register registering read reads detect detects parse parses execute executing behave
            behaving print prints clickable reachable move moving resolved solved deploy deploys same help helped
            """,
        "this": "it this that these those them",
        "those": "them those that this it these same one ones there both above",
        "build": """
            implement implementing add adding create creating build building develop developing integrate integrating
            incorporate introduce extend support refactor refactoring restructure redesign rewrite rework reorganize
            reorganise migrate convert port adapt optimize optimise improve improving enhance revamp design draft generate
            write setup configure automate extract unify consolidate simplify split expand complete finish finalize polish
            modernize scaffold prototype document specify reconcile enable allow cover embed upgrade recreate rebuild
            modularize decouple parse wire hook expose handle track store persist cache validate encrypt schedule
            """,
        "change": "update revise amend modify adjust edit tweak adapt",
        "review": """
            review analyze analyse audit scan inspect examine evaluate assess verify validate check investigate study
            identify research explore reconsider double-check triple-check compare
            """,
        "small": """
            remove delete rename move change replace make set put swap align center centre hide revert undo clean format
            bump resize increase decrease turn exchange drop shorten reduce lower raise fold reorder switch comment
            uncomment insert paste reword capitalize indent sort strip
            """,
        "order": """
            commit push pull merge rebase stash run rerun re-run execute install deploy start restart stop kill open close
            launch spin apply test retest lint stage tag release publish checkout squash print output show paste copy repeat
            download upload proceed continue save load clear wait list try retry send give provide serve
            """,
        "git": "commit push pull merge rebase stash branch pr commits pushed committed git github gitignore pushing",
        "fix": "fix solve resolve debug troubleshoot diagnose fixing fixed solving resolving repair correct",
        "acknowledgement": """
            ok okay k yes yep yeah yup ya sure no nope nah thanks thank thx great good nice perfect cool awesome excellent
            hi hello hey right correct exactly agreed alright wow amazing lgtm fine y n
            """,
        "goon": "continue proceed go resume carry keep",
        "done": """
            done added installed removed created committed pushed fixed updated applied successful successfully completed
            complete ran finished saved merged deployed restarted approved deleted renamed
            """,
        "swearing": "fuck fucking fucked wtf ffs shit damn dumb moron idiot stupid crap bullshit hell garbage",
        "plan": """
            plan plans phase phases task tasks feature features spec specs specification requirement requirements backlog
            roadmap milestone milestones step steps story stories ticket epic sprint
            """,
        "document": """
            readme.md changelog.md todo.md readme changelog todo docs documentation tasks.md plan.md claude.md roadmap.md
            spec.md
            """,
        "whole": "codebase project application app repo repository library website system game site portfolio package",
        "want": "want need would like wish wanna",
        "user": """
            user users player players admin admins customer customers client clients visitor visitors people reader readers
            """,
        "reveal": "explain describe summarize summarise elaborate clarify walk outline explanation explaining",
        "best": """
            best easiest right better simplest proper recommended correct fastest standard good ideal cleanest idiomatic
            safest
            """,
        "size": """
            small big large slow fast long short dark bright wide narrow tall high low heavy far close sensitive much many
            tiny huge
            """,
        "property": """
            color colour size width height padding margin font border icon text title label name number position background
            px value constant variable string
            """,
        "file": "file files folder folders module directory directories page line lines class function component script table",
        "symptom": """
            shows says said displays gives keeps goes stays becomes returns throws prints outputs spins jumps resets logs
            """,
        "be": "is are was were",
        "auxiliary": """
            is are was were do does did can could should shall will would has have had must may might isnt arent doesnt dont
            didnt wont cant shouldnt
            """,
        "convention": """
            rule rules convention conventions standard standards guideline guidelines pattern patterns practice practices
            principle principles policy architecture strategy approach workflow
            """,
        "quality": "responsive performance security accessibility scalable robust animation animations layout design ui ux",
        "side": "right left below above under top bottom underneath corner",
    }.items()
}

OPENERS = frozenset(  # a request may begin behind them: `^` in a pattern
    """
    ok okay please plese plz pls now then and so but also just can could would will you lets let us hey hi hello thanks
    thank great good perfect yes yeah yep sure no nope alright i we want to like id wish next first actually well maybe ill
    help me go ahead nice right amazing awesome finally still hmm hrm oh ah wow kindly must try cool excellent need begin
    start with by trying gonna should think its
    """.split()
)

FILLERS = frozenset(  # words without a content of their own
    """
    a an the i we you he she it they me us him her them my your our their its this that these those is are was were be been
    being am do does did doing done have has had having will would can could should shall may might must not no yes ok okay
    and or but if so as at by for from in into of on onto to with without about up down out off over under then than there
    here now just also too very really still again please pls plz thanks thank let lets go get got make made want need like
    see look know think try use all any some one two more most other same both each what which who how why when where im ive
    ill dont doesnt didnt isnt arent cant wont thats hey hi hello great good nice perfect sure yeah yep yup right well
    actually maybe something anything everything nothing thing things stuff way bit lot much many first next back only even
    though because while until before after already yet ahead continue proceed correct fine cool
    """.split()
)

ACKNOWLEDGED = frozenset(  # in scripts whose words the signals do not know
    """
    好 好的 继续 可以 谢谢 是 对 はい お願いします 続けて ありがとう 了解 네 감사합니다 계속 да нет спасибо ок хорошо продолжай
    """.split()
)

SIGNALS: tuple[tuple[str, str, float, float, str, str], ...] = (
    # pattern, family, strength, weight, an example, a counter-example
    # --- comparison
    (
        "difference|differences|differ",
        COMPARISON,
        CERTAIN,
        3.19,
        "what is the difference between a rebase and a merge",
        "rebase onto a different branch",
    ),
    (
        "difference|differences between|in|from",
        COMPARISON,
        CERTAIN,
        3.44,
        "what is the difference between the two queues",
        "spot the difference",
    ),
    ("vs|versus", COMPARISON, CERTAIN, 3.58, "sqlite vs postgres for this", "open this in vscode"),
    (
        "compare|compared|comparing|comparison",
        COMPARISON,
        MEDIUM,
        1.36,
        "compare both parsers",
        "the comparator sorts both parsers",
    ),
    (
        "pros and cons|downsides",
        COMPARISON,
        CERTAIN,
        3.44,
        "what are the pros and cons of a monorepo",
        "the pros use a monorepo",
    ),
    (
        "which .. better|best|prefer|recommend|choose",
        COMPARISON,
        STRONG,
        1.52,
        "which of these is better",
        "which of these is in use? a better one is there",
    ),
    ("better .. or|than", COMPARISON, STRONG, 1.85, "is it better to poll or to push", "make the layout better"),
    ("rather|stick than|with", COMPARISON, STRONG, 1.54, "use uuids rather than serials", "i would rather use uuids"),
    ("or .. ?", COMPARISON, MEDIUM, 1.70, "do we keep redis or memcached?", "redis or memcached, both work. ok?"),
    (
        "or should|would|do|just|only|not|maybe|is|are|use @this|the|a|use|we|i|you",
        COMPARISON,
        STRONG,
        1.50,
        "keep it or should we drop it",
        "red or blue should do",
    ),
    (
        "alternative|alternatives|tradeoffs|tradeoff|trade-offs|advantages|disadvantages|advantage|benefit|benefits|drawbacks|pros",
        COMPARISON,
        STRONG,
        1.52,
        "what are the tradeoffs here",
        "trade the queue for a table",
    ),
    (
        "more|less|faster|better|cheaper|simpler|safer than",
        COMPARISON,
        WEAK,
        0.56,
        "is bun faster than node",
        "make the import faster",
    ),
    ("any|a better|other", COMPARISON, WEAK, 0.63, "is there any other queue", "any queue is better"),
    # --- troubleshoot
    ("<7 @fault", TROUBLESHOOT, STRONG, 1.45, "git rebase fails", "git says that a rebase fails when the tree is dirty"),
    ("@fault", TROUBLESHOOT, STRONG, 1.85, "tests are failing with exit code 101", "the tests exit with code 0"),
    ("@negation .. @function", TROUBLESHOOT, MEDIUM, 1.12, "the modal does not really open", "do not touch the modal"),
    ("@contracted @function", TROUBLESHOOT, STRONG, 1.39, "login doesn't work", "login works, it doesn't flicker"),
    ("still", TROUBLESHOOT, MEDIUM, 1.56, "it is still red", "keep it red until then"),
    (
        "still .. @negation|@fault|same|get|getting|shows|see|too",
        TROUBLESHOOT,
        STRONG,
        1.81,
        "we still get the old page",
        "the docs are still to come",
    ),
    ("@fix", TROUBLESHOOT, MEDIUM, 0.97, "can you solve the race in the scheduler", "look at the race in the scheduler"),
    ("^@fix", TROUBLESHOOT, WEAK, 0.57, "please fix the login", "we will never fix the login"),
    ("^@fix it|this|them|that|the|all|any|those", TROUBLESHOOT, WEAK, 0.51, "fix the flicker", "fix flicker"),
    ("@fix .. @fault", TROUBLESHOOT, STRONG, 0.85, "resolve the merge conflict", "fix the title of the page"),
    ("@fix it|this|them", TROUBLESHOOT, WEAK, 0.85, "find out why and fix it", "find out why and fix nothing"),
    (
        "help .. @fix|with|@fault",
        TROUBLESHOOT,
        STRONG,
        1.52,
        "help me with the console output",
        "update the help text of the command",
    ),
    (
        "why is|are|does|do|did|isnt|doesnt|am|cant it|this|the|my|our|that|there|nothing",
        TROUBLESHOOT,
        MEDIUM,
        1.14,
        "why is the list empty",
        "why did we pick postgres",
    ),
    (
        "why .. @negation|@fault|only|empty|still|same",
        TROUBLESHOOT,
        STRONG,
        1.67,
        "why is it not saved",
        "why did we pick uuids",
    ),
    ("figure|find|look out|into|why", TROUBLESHOOT, WEAK, 0.82, "look into the flaky job", "look at the flaky job"),
    ("caused|cause|causes|causing", TROUBLESHOOT, WEAK, 0.63, "what causes the reload", "it works because of the reload"),
    ("it|that|which @symptom", TROUBLESHOOT, WEAK, 0.31, "it shows the old price", "show it with the old price"),
    ("@symptom", TROUBLESHOOT, WEAK, 1.08, "the page stays white", "the white page is the old one"),
    ("keeps|kept", TROUBLESHOOT, MEDIUM, 0.81, "the worker keeps restarting", "keep the worker running"),
    (
        "nothing|no .. works|working|happens|happening|change|changes|shows|showing|response|output",
        TROUBLESHOOT,
        MEDIUM,
        1.19,
        "nothing happens when i click save",
        "nothing to add, it is merged",
    ),
    ("get|got|getting|gives this|following|these|that", TROUBLESHOOT, MEDIUM, 1.32, "now i get this:", "get the list of users"),
    (
        "i|we|im|were get|got|getting|have|had|receive|see|keep .. this|the|an|a|following|error",
        TROUBLESHOOT,
        WEAK,
        0.66,
        "we are seeing it, i get a timeout",
        "they get a cookie",
    ),
    (
        "@be not|down|red|dead|offline|unreachable",
        TROUBLESHOOT,
        MEDIUM,
        0.85,
        "the port is not open",
        "is the port open or not",
    ),
    (
        "isnt|not|arent right|correct|good|there|enough",
        TROUBLESHOOT,
        WEAK,
        0.49,
        "that colour isn't right",
        "turn right, not left",
    ),
    ("there is|are no", TROUBLESHOOT, WEAK, 0.33, "there is no log folder", "there is a log folder, no cache"),
    ("now .. @negation|@fault", TROUBLESHOOT, WEAK, 0.45, "now the build is broken", "now build the parser"),
    ("but .. @negation", TROUBLESHOOT, WEAK, 0.53, "it builds but does not start", "it builds and starts"),
    ("dont|not|cant see|seeing|find", TROUBLESHOOT, WEAK, 0.33, "i can't find the logs", "find the logs"),
    ("cant|cannot|couldnt|unable", TROUBLESHOOT, WEAK, 0.62, "users cannot log in", "users can log in"),
    (
        "exact|same|still problem|issue|error|problems|thing",
        TROUBLESHOOT,
        WEAK,
        0.81,
        "same problem on staging",
        "a problem with the same name",
    ),
    (
        "even though|if|after|tho",
        TROUBLESHOOT,
        WEAK,
        0.62,
        "it reloads even after the change",
        "align the even rows after the header",
    ),
    (
        "when|whenever|after i|we|you|clicking|running|trying|using|opening|the .. it|nothing|app|page",
        TROUBLESHOOT,
        WEAK,
        0.77,
        "when i resize the window it jumps",
        "when will you resize it",
    ),
    (
        "duplicate|duplicated|duplicates|twice|cropped|black|empty|cut|crooked|offscreen|off-screen|gone|lost",
        TROUBLESHOOT,
        WEAK,
        0.67,
        "mails are sent twice",
        "two mails are sent",
    ),
    ("too @size", TROUBLESHOOT, MEDIUM, 1.33, "the text is too small on a phone", "make the small text bold, too"),
    ("console|stderr|logs", TROUBLESHOOT, WEAK, 0.66, "the console says 12", "the login says 12"),
    ("wrong|stuck", TROUBLESHOOT, WEAK, 0.57, "I'm stuck on this async code", "this async code sticks to the style"),
    ("investigate|debug|diagnose", TROUBLESHOOT, WEAK, 0.36, "investigate the slow start", "start the debugger"),
    (
        "expected|expecting|intended|supposed|used to",
        TROUBLESHOOT,
        WEAK,
        0.60,
        "the menu is supposed to close",
        "the menu closes as we expect",
    ),
    ("something .. @fault", TROUBLESHOOT, WEAK, 0.57, "something is wrong with ci", "ci needs something faster"),
    (
        "^unable|failed|failing|failure|cannot|cant",
        TROUBLESHOOT,
        STRONG,
        1.53,
        "Unable to pull images",
        "the images that failed",
    ),
    ("@swearing", TROUBLESHOOT, WEAK, 0.69, "wtf is this", "what is this"),
    (
        "exit|status|error|timing|timed code|status|out",
        TROUBLESHOOT,
        STRONG,
        1.53,
        "it ends with exit code 3",
        "the code of the exit page",
    ),
    # --- location
    ("where", LOCATION, MEDIUM, 1.56, "where do we set the timeout", "there we set the timeout"),
    ("^where", LOCATION, STRONG, 1.82, "so where is it", "i know where it is"),
    (
        "where @be|does|do|did|can|should|to|in|would|the",
        LOCATION,
        STRONG,
        1.89,
        "no idea where the flag is read",
        "add types where needed",
    ),
    ("which|what @file", LOCATION, CERTAIN, 3.66, "which file holds the routes", "what holds the routes of the file"),
    ("^find", LOCATION, WEAK, 1.00, "please find all callers", "we have to find the callers"),
    (
        "^find the|where|all|any|every|it",
        LOCATION,
        STRONG,
        1.72,
        "find the template of the card",
        "find out who calls the card",
    ),
    (
        "any|a|all reference|references|mention|occurrence|occurrences|usages|places",
        LOCATION,
        STRONG,
        1.64,
        "do you see any reference to webpack",
        "keep a list of what it references",
    ),
    (
        "located|stored|defined|lives|live",
        LOCATION,
        STRONG,
        1.53,
        "in which file are the tokens stored",
        "store the tokens in a file",
    ),
    (
        "log|config|settings|env folder|file|files",
        LOCATION,
        WEAK,
        0.78,
        "there should be a config file",
        "log in to see the files",
    ),
    ("^search|locate|list", LOCATION, WEAK, 0.87, "list all endpoints", "sort the list of endpoints"),
    # --- howto
    ("^how", HOWTO, STRONG, 2.20, "ok how do we deploy", "tell me how it went"),
    ("how to", HOWTO, STRONG, 2.21, "no clue how to rotate the keys", "rotate the keys, however you like to"),
    (
        "how do|can|should|would|could|might|did|must i|we|you|one|us",
        HOWTO,
        STRONG,
        2.41,
        "how can i squash commits",
        "how it is done is up to you",
    ),
    (
        "is|are there|theres a|any|an way|method|command|option|tool|setting|shortcut|trick",
        HOWTO,
        STRONG,
        2.04,
        "is there a way to skip the hooks",
        "there is a house on the way",
    ),
    (
        "@best way|approach|practice|practices",
        HOWTO,
        CERTAIN,
        3.76,
        "what's the best way to cache this",
        "cache this the way we do, it is the best",
    ),
    (
        "what|which should|must|do|command|commands|tool|flag|syntax i|we|to|is|for",
        HOWTO,
        STRONG,
        1.56,
        "which command do i use, what command is it",
        "what a tool",
    ),
    (
        "guide|walk|teach|show|tell me|us how|through|to|from",
        HOWTO,
        STRONG,
        1.69,
        "guide me through the setup",
        "link the style guide to the docs",
    ),
    ("a|any|another way to|of", HOWTO, MEDIUM, 1.39, "i look for a way to mock time", "the text is way too long"),
    ("how i|we|exactly", HOWTO, WEAK, 0.48, "i forgot how we tag releases", "i forgot how nice the tags are"),
    ("steps|instructions to|for|on", HOWTO, WEAK, 0.50, "give me the steps to release", "go two steps back"),
    (
        "using|in docker|git|bash|zsh|vscode|vs|npm|linux|windows|macos|osx|terminal|powershell|kubernetes",
        HOWTO,
        WEAK,
        0.57,
        "count files in bash",
        "the windows in the house",
    ),
    # --- explanation
    ("@reveal", EXPLANATION, MEDIUM, 0.96, "i need you to explain the cache", "we explained the cache to them"),
    ("^@reveal", EXPLANATION, CERTAIN, 3.17, "please summarise the design", "the design is hard to describe"),
    ("^what", EXPLANATION, WEAK, 1.01, "what is a span", "do what the span says"),
    ("what @be|does|do|did", EXPLANATION, WEAK, 1.26, "what does the guard do", "what about the guard"),
    ("^why", EXPLANATION, WEAK, 1.12, "why two tables", "that is why we have two tables"),
    ("why", EXPLANATION, WEAK, 0.94, "i wonder why we have two tables", "i wonder if we have two tables"),
    ("why did|do|would|are|were you|we", EXPLANATION, STRONG, 1.55, "why did we choose sqlite", "why did it choose sqlite"),
    ("^how many|much|long|often|big|far", EXPLANATION, STRONG, 1.58, "how many tests do we have", "how do we test"),
    ("^how @be|does|did", EXPLANATION, STRONG, 1.84, "how does the retry work", "how do i retry"),
    (
        "how @be|does|did|has the|this|it|that|these|a",
        EXPLANATION,
        WEAK,
        0.84,
        "i see, but how is the lock taken",
        "i see how to take the lock",
    ),
    ("understand", EXPLANATION, WEAK, 0.79, "i want to understand the flow", "the flow is understood"),
    (
        "understand .. code|codebase|project|how|what|why|deeply|fully",
        EXPLANATION,
        STRONG,
        1.76,
        "read and understand the codebase",
        "the codebase is hard to understand",
    ),
    ("tell me", EXPLANATION, STRONG, 1.78, "tell me about the scheduler", "tell them about the scheduler"),
    (
        "overview|summary|breakdown|report|explanation",
        EXPLANATION,
        WEAK,
        0.69,
        "i need an overview of the modules",
        "view all the modules",
    ),
    (
        "^is|are|does|did|do|was|were|has|have|isnt|arent|doesnt|will",
        EXPLANATION,
        MEDIUM,
        1.33,
        "does the job retry",
        "the job does retry",
    ),
    ("^@auxiliary @this|the|there|they|all|any", EXPLANATION, WEAK, 0.71, "is this thread safe", "is bash thread safe"),
    ("^@auxiliary .. ?", EXPLANATION, WEAK, 0.41, "will it scale?", "it will scale, ok?"),
    ("did|have you", EXPLANATION, WEAK, 0.85, "did you also change the tests", "you did change the tests"),
    ("currently|already", EXPLANATION, WEAK, 0.63, "what is currently cached", "what is cached at the current commit"),
    (
        "confused|curious|wondering|wonder|question",
        EXPLANATION,
        WEAK,
        0.57,
        "quick question about the queue",
        "an unquestioned rule of the queue",
    ),
    (
        "not|no sure|familiar|clue|idea|understand",
        EXPLANATION,
        WEAK,
        0.64,
        "i am not familiar with actors",
        "make sure that actors are not used",
    ),
    (
        "mean|means|meaning|purpose|reason|reasoning",
        EXPLANATION,
        WEAK,
        0.80,
        "what is the purpose of this lock",
        "it is reasonable to lock this",
    ),
    (
        "^when|who|which @auxiliary|one|of|version",
        EXPLANATION,
        STRONG,
        1.39,
        "when should i use a saga",
        "i know when i should use it",
    ),
    (
        "^can|could|should|may|must|do i|we .. ?",
        EXPLANATION,
        MEDIUM,
        0.80,
        "can we run two schedulers?",
        "we can run two schedulers?",
    ),
    (
        "confirm",
        EXPLANATION,
        STRONG,
        1.41,
        "confirm that hooks run before the build",
        "open the confirmation page before the build",
    ),
    # --- general
    ("@build", GENERAL, WEAK, 0.53, "it would be good to refactor this", "it would be good to have the builder"),
    ("^@build", GENERAL, WEAK, 0.99, "let's implement the importer", "the implementation of the importer"),
    ("^@build a|an|the|new|support|tests|all|some|more", GENERAL, MEDIUM, 0.73, "add a rate limiter", "add it to the list"),
    (
        "@goon .. working|building|@plan|@document|implementing|implementation",
        GENERAL,
        STRONG,
        1.92,
        "continue with phase 2",
        "continue",
    ),
    (
        "work|working|start|begin on|working|implementing",
        GENERAL,
        MEDIUM,
        1.20,
        "let's work on the parser",
        "the parser does work",
    ),
    (
        "^@review the|all|every|this|my|our|if|that",
        GENERAL,
        MEDIUM,
        0.81,
        "review the error handling",
        "the review of our error handling",
    ),
    ("@review", GENERAL, WEAK, 0.44, "do a scan for unsanitised input", "the scanner reads unsanitised input"),
    ("^@change", GENERAL, WEAK, 0.72, "update the importer for v2", "after the update of v2"),
    (
        "@change the|all|every|@document|everything",
        GENERAL,
        WEAK,
        0.41,
        "then adjust all callers",
        "then adjust it at the callers",
    ),
    ("@document", GENERAL, WEAK, 0.88, "work through todo.md", "work through it, document by document"),
    ("@plan", GENERAL, WEAK, 0.83, "the next milestone is export", "the planner exports it next"),
    ("what|then .. next|left|remaining", GENERAL, STRONG, 1.69, "what is left", "move it to the left"),
    (
        "error|exception handling|handler|handlers|page|boundary|message|messages|text|class",
        GENERAL,
        STRONG,
        1.49,
        "add error handling to the upload",
        "the upload ends with an error",
    ),
    ("@convention", GENERAL, WEAK, 0.87, "follow the naming convention", "follow the conventional name"),
    ("@quality", GENERAL, WEAK, 0.49, "make the layout responsive", "make it respond to clicks"),
    ("@whole", GENERAL, WEAK, 0.58, "go through the codebase", "go through the code"),
    ("@user", GENERAL, WEAK, 0.70, "visitors pick a seat", "we visit the seat"),
    ("@user can|should|could|must|to|needs|will", GENERAL, WEAK, 0.76, "users should see a badge", "show the badge to users"),
    ("we|it|they|@user should|could|must|need|needs", GENERAL, WEAK, 0.87, "we should cache that", "i should cache that"),
    ("should be|have|also|not|only", GENERAL, WEAK, 0.48, "it should be lazy", "it should load slowly"),
    ("needs|need to", GENERAL, WEAK, 0.60, "it needs to be lazy", "it needs a lock"),
    ("i @want a|an|the|it|this", GENERAL, WEAK, 0.59, "i want a dark mode", "i want two dark modes"),
    ("lets|let", GENERAL, WEAK, 0.69, "let's split it", "it letters the pages"),
    ("can|could we .. @build|make|have|use|put", GENERAL, WEAK, 0.79, "can we use a queue here", "we can use a queue here"),
    ("can|could you", GENERAL, WEAK, 0.26, "can you look at the queue", "you can look at the queue"),
    ("^make|ensure sure", GENERAL, WEAK, 0.50, "make sure all callers close it", "are you sure that all callers make it"),
    ("maybe|perhaps", GENERAL, WEAK, 0.44, "maybe with a queue", "it may be a queue"),
    ("how|what about", GENERAL, WEAK, 0.69, "what about a queue", "a question about a queue"),
    ("would be|like", GENERAL, WEAK, 0.54, "a queue would be nice", "a queue would do"),
    ("based on|according", GENERAL, WEAK, 0.65, "name it based on the spec", "the base of the spec"),
    (
        "suggest|suggestion|suggestions|recommend|advice|ideas|idea|improvements|propose",
        GENERAL,
        WEAK,
        0.52,
        "suggest a name for it",
        "improve the name",
    ),
    ("so that|we|i|the|it|they|users", GENERAL, WEAK, 0.71, "cache it so that it is fast", "it is not so fast"),
    ("instead", GENERAL, WEAK, 0.53, "use a queue instead", "use a queue in its stead"),
    ("like|similar|same .. to|in|as", GENERAL, WEAK, 0.76, "the same style as in the header", "do the same"),
    ("^if|when", GENERAL, WEAK, 0.44, "if it is empty then skip it", "ask if the list is empty"),
    ("if", GENERAL, WEAK, 0.62, "skip the row if it is empty", "skip the empty row"),
    ("all|entire|whole|every|each", GENERAL, WEAK, 0.53, "log every endpoint", "log any endpoint"),
    ("tests|test|testing|coverage", GENERAL, WEAK, 0.61, "more coverage for the parser", "cover more of the parser"),
    (
        "ability|option|able|allow|allows|support|supports",
        GENERAL,
        WEAK,
        0.62,
        "we need the ability to export",
        "we are about to export",
    ),
    (
        "concept|implementation|logic|backend|frontend|database|auth|authentication|login",
        GENERAL,
        WEAK,
        0.64,
        "move to another database",
        "log in with another data source",
    ),
    ("too large|big|long", GENERAL, WEAK, 0.50, "this module is too large", "split this large module, too"),
    # --- seeking: the prompt asks for what is remembered, whatever its type
    (
        "remind|remember|recall me|us|how|what|why|when|which|the|that|our",
        SEEKING,
        CERTAIN,
        3.50,
        "remind me how we name branches",
        "the reminder names a branch",
    ),
    (
        "we|i decide|decided|agree|agreed|chose|choose|settled|discussed|talked|learned",
        SEEKING,
        STRONG,
        1.22,
        "what did we decide about caching",
        "they decided about caching",
    ),
    (
        "last|past|previous time|week|month|session|conversation|chat|version|versions|step|fix|task",
        SEEKING,
        STRONG,
        1.38,
        "the way we did it last time",
        "the last of the tasks",
    ),
    ("like|as|than we|i did|do|had|have|used", SEEKING, STRONG, 1.55, "a new worker like we did for billing", "like it did"),
    ("earlier|previously", SEEKING, MEDIUM, 1.05, "as we said earlier", "start the job early"),
    ("did|have|had|do we", SEEKING, WEAK, 0.72, "how did we solve it", "how we did solve it"),
    # --- none
    ("<4 @acknowledgement", NONE, STRONG, 1.46, "ok thanks", "ok so how do we deploy it now"),
    ("<7 ^@acknowledgement", NONE, STRONG, 1.52, "yes that one is better", "the better answer is yes"),
    ("^@acknowledgement .", NONE, WEAK, 0.55, "great! ship it", "great work on the parser"),
    ("<9 ^@goon", NONE, MEDIUM, 0.93, "please continue", "the tests continue after it"),
    ("<7 ^@order", NONE, STRONG, 0.91, "push it to origin", "it was pushed to origin"),
    (
        "<13 ^@order",
        NONE,
        WEAK,
        0.41,
        "restart the server and open the page for me",
        "the server restarts and opens the page for me",
    ),
    ("^@order", NONE, WEAK, 0.22, "deploy it to staging", "the staging deployment"),
    ("^@order @this|all|these|the|everything", NONE, MEDIUM, 1.19, "run the linter", "run linters on the parser"),
    ("<25 ^@small", NONE, WEAK, 0.67, "make it blue", "blue is how they make it"),
    ("<13 ^@small", NONE, WEAK, 0.51, "rename foo to bar", "foo is renamed to bar"),
    ("^@small", NONE, WEAK, 0.40, "remove the second button", "the second button has to be removed"),
    ("^@small .. @property", NONE, WEAK, 0.57, "change the font to arial", "change the plan for arial"),
    ("@property", NONE, WEAK, 0.51, "give the card a border of 2px", "the card is bordered"),
    (
        "typo|typos|spelling|wording|grammar|docstring|docstrings|whitespace|indentation|lint|linter|formatting",
        NONE,
        STRONG,
        1.49,
        "fix the typo",
        "fix the type",
    ),
    ("@side", NONE, WEAK, 0.53, "put the badge in the top corner", "put the badge in the file"),
    ("^@git", NONE, WEAK, 0.59, "commit with a good message", "it needs a good commit"),
    ("<9 ^@git", NONE, WEAK, 0.56, "push to the branch", "who pushed to the branch"),
    (
        "commit message|title|changes|these|this|and|it|them",
        NONE,
        STRONG,
        2.01,
        "write a commit message, please",
        "write to the commit log",
    ),
    ("<12 @done .", NONE, STRONG, 1.47, "dependencies installed", "who installed the dependencies for it"),
    ("@done .", NONE, WEAK, 0.48, "all of it is merged. what is next", "all of it is merged by the bot"),
    ("<7 @done", NONE, WEAK, 0.73, "i updated it", "i will update it"),
    ("^@done", NONE, WEAK, 0.49, "done and pushed", "it is done"),
    ("<9 ^stop|wait|cancel|ignore|undo|revert|nevermind", NONE, WEAK, 0.49, "wait a moment", "the request has to wait"),
    ("^dont|stop|ignore|wait", NONE, WEAK, 0.53, "don't touch the tests", "the tests don't touch it"),
    ("^dont|do no|not", NONE, WEAK, 0.64, "do not push yet", "i did not push it"),
    (
        "you did|didnt|are|were|can|should|do|dont|have|said|told|need|forgot",
        NONE,
        MEDIUM,
        1.62,
        "you forgot the tests",
        "they forgot the tests",
    ),
    ("your", NONE, WEAK, 0.42, "your answer was cut", "the answer was yours"),
    ("again", NONE, WEAK, 0.52, "try it again", "try it against staging"),
    ("<8 again", NONE, WEAK, 0.63, "once again", "explain once again how the scheduler picks the next job"),
    ("<8 @those .", NONE, MEDIUM, 0.73, "do the same for those", "do those now"),
    (
        "<10 do|apply|fix|add|implement|create|update|run|remove|make|try|use @this|both|all",
        NONE,
        STRONG,
        1.59,
        "yes, apply those",
        "apply the patch to both",
    ),
    ("<7 option|choice|second|latter|former|one", NONE, MEDIUM, 1.13, "option 2", "optional, take 2"),
    ("go ahead", NONE, WEAK, 0.54, "go ahead", "go to the head"),
    (
        "markdown|format|formatting|formatted",
        NONE,
        WEAK,
        0.31,
        "give it to me as markdown, please",
        "mark it down as done, please",
    ),
    ("here @be|the", NONE, WEAK, 0.71, "here is the output", "here we are"),
    ("^here|heres", NONE, WEAK, 0.70, "here you go", "leave it here"),
    ("<9 ^check|run|test", NONE, WEAK, 0.57, "check the page", "the page was checked"),
    ("i|ill|im|ive just|will|have|already|updated|ran|did|added|changed", NONE, WEAK, 0.55, "i just ran it", "it just ran"),
    ("yourself|manually", NONE, WEAK, 0.56, "do it yourself", "do it for the manual"),
    (
        "<12 @be @this|these .. correct|accurate|right|ok|okay|good",
        NONE,
        MEDIUM,
        1.20,
        "is this right",
        "is the parser of this project right about comments",
    ),
    ("<7 everything|ok|fine|good", NONE, WEAK, 0.54, "everything works", "anything works"),
    ("<9 @negation", NONE, WEAK, 0.35, "not yet", "not even the old parser does what the new one does, they say"),
    ("<5 ?", NONE, WEAK, 0.59, "really?", "does it really work by now?"),
    ("use|using", NONE, WEAK, 0.23, "use the second one", "reuse the second one"),
    ("tested|works|working .|now|fine|great|perfectly", NONE, WEAK, 0.23, "it works now", "now see if it works with redis"),
    ("answer|reply|response|message|email", NONE, WEAK, 0.84, "repeat the answer", "repeat what was answered"),
    ("nothing|anything else|besides|but|except", NONE, WEAK, 0.67, "nothing else for today", "do nothing today"),
    ("you .. ?", NONE, WEAK, 0.57, "are you there?", "you are there. ok?"),
    ("me .", NONE, WEAK, 0.51, "show it to me", "show me that"),
)

BIAS = (-1.15, 0.84, -0.96, -0.79, -0.32, 1.06, 1.31)  # one for each of kinds.TYPES

CUES: "dict[str, tuple[float, ...]]" = {
    "1 or 2 words": (-0.08, 0.00, -0.06, -0.11, -0.17, -0.01, 0.43),
    "3 or 4 words": (-0.01, 0.02, -0.15, -0.21, -0.12, 0.09, 0.40),
    "5 to 7 words": (-0.01, 0.04, 0.11, -0.28, 0.10, -0.03, 0.08),
    "8 to 12 words": (-0.21, 0.19, 0.08, 0.11, 0.15, -0.33, 0.01),
    "13 to 20 words": (0.10, -0.26, 0.12, 0.36, -0.06, -0.09, -0.17),
    "21 to 35 words": (0.29, 0.06, 0.07, 0.03, 0.03, 0.02, -0.50),
    "36 to 70 words": (0.02, 0.06, -0.15, 0.09, 0.15, 0.11, -0.27),
    "over 70 words": (-0.10, -0.11, -0.02, 0.02, -0.07, 0.24, 0.04),
    "nothing telling": (-0.04, 0.26, -0.01, -0.08, -0.14, -0.05, 0.07),
    "1 telling word": (-0.08, 0.04, -0.06, -0.03, -0.01, -0.37, 0.51),
    "2 telling words": (-0.03, -0.19, -0.09, -0.03, -0.05, -0.15, 0.54),
    "3 or 4 telling words": (-0.36, -0.49, 0.15, -0.16, 0.53, 0.13, 0.20),
    "5 to 7 telling words": (0.22, -0.05, 0.13, -0.09, -0.01, -0.15, -0.05),
    "8 to 12 telling words": (0.12, 0.12, -0.07, 0.10, 0.02, -0.01, -0.28),
    "13 to 20 telling words": (0.39, 0.27, 0.05, 0.02, -0.12, 0.08, -0.69),
    "over 20 telling words": (-0.21, 0.03, -0.11, 0.26, -0.21, 0.54, -0.29),
    "a question mark": (0.86, -0.58, 0.35, 0.48, 0.43, -0.77, -0.77),
    "a question at the end": (-0.05, 0.10, -0.06, 0.08, 0.14, 0.05, -0.26),
    "pasted lines": (-0.12, 0.54, -0.06, 0.08, -0.15, -0.34, 0.06),
    "an error in pasted lines": (-0.05, 0.88, -0.04, -0.02, -0.07, -0.28, -0.42),
    "a file": (-0.16, -0.11, 0.04, -0.04, -0.01, 0.10, 0.18),
    "a file by @": (0.14, -0.06, -0.05, -0.06, 0.02, 0.31, -0.31),
    "code": (0.04, 0.06, -0.15, -0.06, 0.40, -0.11, -0.17),
    "a number": (0.24, 0.35, -0.18, -0.11, -0.27, 0.09, -0.12),
    "a quotation": (-0.07, -0.06, -0.05, 0.01, -0.05, -0.16, 0.38),
    "a list": (-0.03, 0.16, -0.00, -0.02, -0.06, -0.02, -0.02),
    "over 3 lines": (-0.15, 0.07, -0.04, 0.03, -0.13, 0.02, 0.21),
    "over 3 sentences": (-0.35, 0.12, -0.17, 0.42, -0.18, 0.15, -0.00),
}  # of the prompt's shape: a weight for each of kinds.TYPES
