"""Words by which intent is read: classes for the patterns of the signals, words that open a request, words that say nothing."""

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
