#include "text/grammar/lexicon_tables.hpp"

namespace examples::grammar::tables {

// Infinitive (`|` behind a separable prefix), er-form without that prefix, participle (`+`: with sein), English (`_` before its particle),
// and after `/` its past where it is not regular.

const char* const persons_do = R"(
lachen lacht gelacht laugh; weinen weint geweint cry; arbeiten arbeitet gearbeitet work; tanzen tanzt getanzt dance
singen singt gesungen sing/sang; lächeln lächelt gelächelt smile; warten wartet gewartet wait; träumen träumt geträumt dream
spielen spielt gespielt play; sitzen sitzt gesessen sit/sat; schreien schreit geschrien scream; niesen niest geniest sneeze
husten hustet gehustet cough; beten betet gebetet pray; auf|stehen steht +aufgestanden get_up/got; nach|denken denkt nachgedacht reflect
zu|hören hört zugehört listen; an|kommen kommt +angekommen arrive; ab|reisen reist +abgereist depart; um|ziehen zieht +umgezogen move
fern|sehen sieht ferngesehen watch_television; zögern zögert gezögert hesitate; lügen lügt gelogen lie; atmen atmet geatmet breathe
seufzen seufzt geseufzt sigh; flüstern flüstert geflüstert whisper; pfeifen pfeift gepfiffen whistle; gewinnen gewinnt gewonnen win/won
wandern wandert +gewandert hike; segeln segelt +gesegelt sail; stolpern stolpert +gestolpert stumble; kichern kichert gekichert giggle
schnarchen schnarcht geschnarcht snore; gähnen gähnt gegähnt yawn; fluchen flucht geflucht swear/swore; kämpfen kämpft gekämpft fight/fought
jubeln jubelt gejubelt cheer; erröten errötet +errötet blush; winken winkt gewinkt wave; nicken nickt genickt nod/nodded
aus|gehen geht +ausgegangen go_out/went; an|fangen fängt angefangen begin/began; mit|spielen spielt mitgespielt join_in
auf|geben gibt aufgegeben give_up/gave; heim|kehren kehrt +heimgekehrt return; mit|singen singt mitgesungen sing_along/sang
)";

const char* const animals_do = R"(
schlafen schläft geschlafen sleep/slept; rennen rennt +gerannt run/ran; springen springt +gesprungen jump; fallen fällt +gefallen fall/fell
schwimmen schwimmt +geschwommen swim/swam; ein|schlafen schläft +eingeschlafen fall_asleep/fell; auf|wachen wacht +aufgewacht wake_up/woke
weg|laufen läuft +weggelaufen run_away/ran; zurück|kommen kommt +zurückgekommen come_back/came; sterben stirbt +gestorben die
verschwinden verschwindet +verschwunden disappear; zittern zittert gezittert tremble; frieren friert gefroren freeze/froze
bluten blutet geblutet bleed/bled; klettern klettert +geklettert climb; weg|gehen geht +weggegangen go_away/went
hin|fallen fällt +hingefallen fall_down/fell
)";

const char* const perceive = R"(
sehen sieht gesehen see/saw; finden findet gefunden find/found; suchen sucht gesucht seek/sought; hören hört gehört hear/heard
beobachten beobachtet beobachtet watch; verfolgen verfolgt verfolgt chase; fürchten fürchtet gefürchtet fear; hassen hasst gehasst hate
retten rettet gerettet save; berühren berührt berührt touch; bemerken bemerkt bemerkt notice; erkennen erkennt erkannt recognise
)";

const char* const treat_anything = R"(
zeichnen zeichnet gezeichnet draw/drew; malen malt gemalt paint; fotografieren fotografiert fotografiert photograph
vergessen vergisst vergessen forget/forgot; kennen kennt gekannt know/knew; bewundern bewundert bewundert admire
beschreiben beschreibt beschrieben describe; vermissen vermisst vermisst miss; brauchen braucht gebraucht need
schützen schützt geschützt protect; filmen filmt gefilmt film; erwähnen erwähnt erwähnt mention; betrachten betrachtet betrachtet observe
ignorieren ignoriert ignoriert ignore; verstecken versteckt versteckt hide/hid; mit|bringen bringt mitgebracht bring_along/brought
mit|nehmen nimmt mitgenommen take_along/took; lieben liebt geliebt love; zurück|lassen lässt zurückgelassen leave_behind/left
ab|holen holt abgeholt pick_up; aus|wählen wählt ausgewählt choose/chose
)";

const char* const treat_things = R"(
kaufen kauft gekauft buy/bought; verkaufen verkauft verkauft sell/sold; reparieren repariert repariert repair; putzen putzt geputzt clean
tragen trägt getragen carry; bestellen bestellt bestellt order; bauen baut gebaut build/built; zerstören zerstört zerstört destroy
benutzen benutzt benutzt use; stehlen stiehlt gestohlen steal/stole; verlieren verliert verloren lose/lost; holen holt geholt fetch
werfen wirft geworfen throw/threw; waschen wäscht gewaschen wash; messen misst gemessen measure; wiegen wiegt gewogen weigh
prüfen prüft geprüft check; mieten mietet gemietet rent; zerbrechen zerbricht zerbrochen break/broke; sammeln sammelt gesammelt collect
ziehen zieht gezogen pull; schieben schiebt geschoben push; heben hebt gehoben lift; vergraben vergräbt vergraben bury
verbrennen verbrennt verbrannt burn; besitzen besitzt besessen own; auf|heben hebt aufgehoben pick_up
weg|werfen wirft weggeworfen throw_away/threw; zurück|geben gibt zurückgegeben give_back/gave; aus|leihen leiht ausgeliehen borrow
aus|packen packt ausgepackt unpack; auf|hängen hängt aufgehängt hang_up/hung; weg|tragen trägt weggetragen carry_away
zurück|bringen bringt zurückgebracht bring_back/brought; um|tauschen tauscht umgetauscht exchange
her|stellen stellt hergestellt manufacture; ein|packen packt eingepackt wrap_up/wrapped; ab|liefern liefert abgeliefert deliver
ab|trocknen trocknet abgetrocknet dry; auf|räumen räumt aufgeräumt tidy_up; um|drehen dreht umgedreht turn_around
zählen zählt gezählt count; versichern versichert versichert insure; lagern lagert gelagert store; schmücken schmückt geschmückt decorate
)";

const char* const treat_persons = R"(
besuchen besucht besucht visit; begrüßen begrüßt begrüßt greet; heiraten heiratet geheiratet marry; fragen fragt gefragt ask
küssen küsst geküsst kiss; umarmen umarmt umarmt hug/hugged; stören stört gestört disturb; warnen warnt gewarnt warn
loben lobt gelobt praise; trösten tröstet getröstet comfort; überraschen überrascht überrascht surprise
verstehen versteht verstanden understand/understood; treffen trifft getroffen meet/met; wecken weckt geweckt wake/woke
pflegen pflegt gepflegt nurse; rufen ruft gerufen call; ein|laden lädt eingeladen invite; an|rufen ruft angerufen phone
aus|lachen lacht ausgelacht mock; vor|stellen stellt vorgestellt introduce; unterstützen unterstützt unterstützt support
beleidigen beleidigt beleidigt insult; betrügen betrügt betrogen cheat; entlassen entlässt entlassen dismiss
bestrafen bestraft bestraft punish; befreien befreit befreit free; verteidigen verteidigt verteidigt defend
erwarten erwartet erwartet expect; belohnen belohnt belohnt reward; unterrichten unterrichtet unterrichtet teach/taught
untersuchen untersucht untersucht examine; heilen heilt geheilt heal; ermutigen ermutigt ermutigt encourage
kritisieren kritisiert kritisiert criticise; ärgern ärgert geärgert annoy; ab|lenken lenkt abgelenkt distract
an|klagen klagt angeklagt accuse; ein|stellen stellt eingestellt hire; aus|bilden bildet ausgebildet train; ernennen ernennt ernannt appoint
bitten bittet gebeten beg/begged; grüßen grüßt gegrüßt salute
)";

const char* const treat_food = R"(
essen isst gegessen eat/ate; kochen kocht gekocht cook; probieren probiert probiert taste; schneiden schneidet geschnitten cut/cut
servieren serviert serviert serve; teilen teilt geteilt share; auf|essen isst aufgegessen eat_up/ate
zu|bereiten bereitet zubereitet prepare; ein|frieren friert eingefroren freeze/froze; auf|wärmen wärmt aufgewärmt warm_up
kosten kostet gekostet sample; würzen würzt gewürzt season
)";

const char* const treat_texts = R"(
lesen liest gelesen read/read; schreiben schreibt geschrieben write/wrote; übersetzen übersetzt übersetzt translate
drucken druckt gedruckt print; vor|lesen liest vorgelesen read_out/read; veröffentlichen veröffentlicht veröffentlicht publish
kürzen kürzt gekürzt shorten; verbessern verbessert verbessert improve; korrigieren korrigiert korrigiert correct
ab|schreiben schreibt abgeschrieben copy; auf|schreiben schreibt aufgeschrieben write_down/wrote
durch|lesen liest durchgelesen read_through/read; zitieren zitiert zitiert quote
)";

// With an object in the dative.
const char* const dative = R"(
helfen hilft geholfen help; danken dankt gedankt thank; antworten antwortet geantwortet answer; folgen folgt +gefolgt follow
gratulieren gratuliert gratuliert congratulate; vertrauen vertraut vertraut trust; gehorchen gehorcht gehorcht obey
begegnen begegnet +begegnet encounter; dienen dient gedient serve; drohen droht gedroht threaten
verzeihen verzeiht verziehen forgive/forgave; widersprechen widerspricht widersprochen contradict; imponieren imponiert imponiert impress
ähneln ähnelt geähnelt resemble; bei|stehen steht beigestanden assist; applaudieren applaudiert applaudiert applaud
aus|weichen weicht +ausgewichen avoid; schmeicheln schmeichelt geschmeichelt flatter; misstrauen misstraut misstraut distrust
glauben glaubt geglaubt believe
)";

// Somebody something.
const char* const give = R"(
geben gibt gegeben give/gave; zeigen zeigt gezeigt show; schicken schickt geschickt send/sent; leihen leiht geliehen lend/lent
bringen bringt gebracht bring/brought; an|bieten bietet angeboten offer; reichen reicht gereicht hand
versprechen verspricht versprochen promise; verkaufen verkauft verkauft sell/sold; verweigern verweigert verweigert deny
zu|werfen wirft zugeworfen toss; zu|schicken schickt zugeschickt mail
)";

const char* const move = R"(
gehen geht +gegangen go/went; fahren fährt +gefahren drive/drove; laufen läuft +gelaufen walk; kommen kommt +gekommen come/came
reisen reist +gereist travel/travelled; fliegen fliegt +geflogen fly/flew; eilen eilt +geeilt hurry; schleichen schleicht +geschlichen sneak
reiten reitet +geritten ride/rode; fliehen flieht +geflohen flee/fled; zurück|kehren kehrt +zurückgekehrt return
marschieren marschiert +marschiert march; spazieren spaziert +spaziert stroll; kriechen kriecht +gekrochen crawl
rennen rennt +gerannt run/ran
)";

// That something is so.
const char* const say = R"(
sagen sagt gesagt say/said; glauben glaubt geglaubt believe; hören hört gehört hear/heard; hoffen hofft gehofft hope
denken denkt gedacht think/thought; behaupten behauptet behauptet claim; vermuten vermutet vermutet suspect
vergessen vergisst vergessen forget/forgot; träumen träumt geträumt dream; fürchten fürchtet gefürchtet fear
schreiben schreibt geschrieben write/wrote; lesen liest gelesen read/read; schwören schwört geschworen swear/swore
leugnen leugnet geleugnet deny; beweisen beweist bewiesen prove; bestätigen bestätigt bestätigt confirm
bedauern bedauert bedauert regret/regretted; an|kündigen kündigt angekündigt announce; ein|sehen sieht eingesehen realise
zu|geben gibt zugegeben admit/admitted; verstehen versteht verstanden understand/understood
)";

const char* const weather =
    "regnen regnet geregnet rain; schneien schneit geschneit snow; donnern donnert gedonnert thunder; hageln hagelt gehagelt hail";

}  // namespace examples::grammar::tables
