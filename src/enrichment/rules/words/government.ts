import type { WordList } from '../word-table.ts'

/** Ministries, agencies, municipalities, armed forces and courts; the weights are those of `isp.ts`. */
export const GOVERNMENT_WORDS: readonly WordList[] = [
  {
    classification: 'government',
    weight: 6,
    words: `
      department of, departments of, dept of, office of the, house of representatives, executive office, air force
      armed forces, coast guard, national guard, marine corps, army corps, secret service, federal bureau, bureau of
      police department, sheriff s office, fire department, postal service, public safety, public works
      internal revenue, taxation office, tax administration
      city of, cities of, county of, state of, town of, township of, village of, borough of, london borough
      parish of, province of, commonwealth of pennsylvania, commonwealth of massachusetts, commonwealth of virginia
      commonwealth of kentucky, district of columbia, government of, republic of, kingdom of, county council
      city council, district council, borough council, regional council, parish council, shire council
      council of the, supreme court, county government, city government, local government, metropolitan police
      comune di, citta di, citta metropolitana, provincia di, regione autonoma, ville de, mairie de, commune de
      departement de, conseil departemental, conseil general, conseil regional, communaute de communes
      communaute d agglomeration, municipio de, municipalidad de, ayuntamiento de, diputacion de
      diputacion provincial, comunidad de madrid, junta de andalucia, junta de castilla, gobierno de, gobierno del
      govern de, xunta de, camara municipal, camara dos, camara de diputados, camara de comercio e, estado de
      governo do, prefeitura de, prefeitura do, prefeitura municipal, municipio do, tribunal de, secretaria de
      secretaria da, secretaria do, poder judicial, poder judiciario, banco central, superintendencia de
      superintendencia nacional
      stadt und, land brandenburg, land berlin, freie und hansestadt, freistaat bayern, freistaat sachsen
      land nordrhein, land niedersachsen, land hessen, magistrat der, amt der, amt fuer, amt fur, urzad miasta
      urzad gminy, urzad marszalkowski, gmina miejska, gmina miasto, hlavni mesto, mesto, statutarni mesto
      krajsky urad, obecny urad, obec
      federal aviation, aviation administration, federal state, federal trade, federal agency, federal service
      federal government, department for, social security, public health agency, national assembly
      assemblee nationale, national informatics centre, national intelligence, civil service, general directorate of
      directorate general, directorate of, state service of, state agency, state enterprise of justice
      state committee, state tax, postal authority, telecommunications commission, communications commission
      telecommunication commission, telecommunications regulatory, telecommunication regulatory
      regulatory commission, regulatory authority, national laboratory, national laboratories, statistics office
      statistical office, statistisches
      kementerian, jabatan, buyuksehir, buyuk millet, genel mudurlugu, uy ban, bo tai chinh, cong an
      so thong tin va truyen thong, van phong, tong cuc, pemerintah, dinas komunikasi, dinas, perdana menteri
      information technology agency, government technology, information resources service
    `,
  },
  {
    classification: 'government',
    weight: 5,
    words: `
      ministr*, ministe*, minister*, *ministerie, *ministerium, *ministeriet, *ministeri, government, government*
      governmental, govt, gov, gob, gouv, gobierno, governo, gouvernement, gubernament*, guvern*, regierung*
      *regierung, landesregierung, regering*, regjering*, hallitus, kormany*, vlada, vlady, sejm, seimo, saeima
      riigi*, riigikantselei, valtion, valtori, valtiokonttori, rijks*, overheid*, overheidsdienst, federale, bundes*
      *bundestag, landtag, landrat*, *landratsamt, landkreis*, kreisverwaltung, stadtverwaltung, gemeindeverwaltung
      landeshauptstadt, bezirksamt, verwaltung*, gemeente*, gemeinde*, kommun, kommune, *kommun, *kommune, kommunen
      kommuner, kommunal*, *kommunal, fylkeskommun*, lansstyrelse*, landsting*, myndighet*, *myndigheten, *myndighet
      forsvar*, *forsvar, polis*, politi, polizei*, *polizei, police, policia, policja, politie, polizia, policie
      poliisi*, belediye*, *belediyesi, bakanlig*, mudurlug*, baskanlig*, kaymakamlig*, valilig*, prefeitura*
      prefectur*, prefettura, ayuntamiento*, ajuntament*, alcaldia, municipalidad, municipality, municipal
      municipalite, municipi*, intendencia, diputac*, generalitat, xunta, mairie, kaupunki, kaupungin, kunta
      linnavalitsus, savivaldyb*, dome, obshtina, opstina, opcina, obcina, primaria, primarie, judetean, urzad, urad
      uprava, *ministerstvo, magistrat
      parliament*, parlament*, parlement*, *parlament, bundestag, bundesrat, riksdag*, folketing*, stortinget
      eduskunta, congreso de, senat, senate, senado, congress, knesset, army, armee, navy, military, militar
      militaire, ejercito, exercito, armada, embassy, embassies, botschaft, ambassade, embajada, consulate, tribunal*
      justice, justica, justicia, justiz*, *gericht, courts, judicial, judiciary, sheriff, treasury, customs, aduana*
      douane, zoll, hacienda
      belastingdienst, finanzamt, skatteverket, skatt*, kanton, canton, republica, republik, republique
      federation council
      министерств*, правительств*, администрац*, государственн*, департамент*, казначейств*, прокуратур*, полиц*
      муниципал*, міністерств*, державн*, податков*, мэрия, дума, υπουργ*, δημος
      政府, 公安局, 财政局, 人民法院, 総務省, 国土交通省, 市役所, 県庁, 警察, 厚生労働省, 정부, 시청, 경찰, 행정, กระทรวง, กรม, وزارة, الحكومة, משרד
    `,
  },
  {
    classification: 'government',
    weight: 3,
    words: `
      county, counties, federation, amet, central bank, province, provincia, provincial, provincie, provinsi
      prefecture, stadt, regione, regiao, council, township, borough, ministerial, authority, agency
      state government, public administration, administrative, judges, court, revenue, lottery, commission
      commissioner, autoridad, agence nationale, agencia nacional, agencia de, secretaria, superintendencia
      comunidad, junta, consejo, defensoria, fiscalia, contraloria, registraduria, procuraduria, receita
      servico federal
    `,
  },
  {
    classification: 'government',
    weight: 2,
    words: `
      comune, oblast, ville, camara, cabildo, amt, bureau, federal, defense, defence, region hovedstaden
      vastra gotalandsregionen
    `,
  },
  {
    classification: 'government',
    weight: 1,
    words: `national, nacional, nationale, regional, public, state`,
  },
  {
    classification: 'neutral',
    weight: 0,
    words: `
      bundesliga, federal way, federated, polish*, police jury supplies, navy pier, senate house, justice league
      polisher, polistil, dome petroleum, state street, state farm, public company, public joint, public limited
      national public radio, polska, parlante, regional bank, royal kingdom, public company limited
      public joint stock
    `,
  },
]
