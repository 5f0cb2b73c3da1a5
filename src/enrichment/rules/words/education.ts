import type { WordList } from '../word-table.ts'

/** Universities, schools and research, in the words of many countries; the weights are those of `isp.ts`. */
export const EDUCATION_WORDS: readonly WordList[] = [
  {
    // A university is one, whatever else its name names: a state, a city, a subject.
    classification: 'education',
    weight: 8,
    words: `
      universit*, universid*, univerzit*, univerza, univerzum, uniwersytet*, universiteit*, universitaet*
      *universitaet, *universitat, *universitet, *university, universitas, universiti, univ, universities
      universitair*, universitari*, yliopisto*, *yliopisto, ylioppilas*, egyetem*, *egyetem, sveuciliste*
      sveucilista
      hogskola*, hogskole*, hogskolan, hogskolen, *hogskolan, *hogskolen, hogeschool*, *hogeschool, hojskole*
      hochschul*, *hochschule, *hochschule*, fachhochschul*, *korkeakoulu, korkeakoulu*, ulikool*, haskoli*, *haskoli
      augstskola*, akademija, vysoka skola, vysoke uceni, vyssi
    `,
  },
  {
    classification: 'education',
    weight: 6,
    words: `
      research and education, education and research, academic and research, research education network
      national research and education network, education network
      science and technology, institute of technology, institute of science, institute of science and technology
      instituto tecnologico, institut teknologi, school district, school board, public schools, school division
      unified school district, board of education, community college, community colleges, technical college
      academy of sciences, academy of science, akademie der wissenschaften, akademia nauk, academia sinica
      scientific research institute, grandes ecoles, higher education, office of education
      educational service center, board of regents, regional computing center
      medical school, medical college, school of medicine, business school, law school, dai hoc, hoc vien
      perguruan tinggi, hogere school, ecole superieure, ecole polytechnique, ecole normale, haute ecole
      universidad nacional, research network, academic network, university network
      max planck, ensino e pesquisa, schools trust, academies trust, academy trust, boces, conseil scolaire
      commission scolaire, centre de services scolaire
    `,
  },
  {
    classification: 'education',
    weight: 5,
    words: `
      polytech*, politech*, politecn*, polytekn*, politekn*, polyteknik*, politehn*, ecole, ecoles, escola, escolas
      escuela*, colegio*, college, colleges, *college, collegium, faculdade*, facultad*, fakultet*, fakultat, faculty
      lycee, lyceum, liceo, liceum, gimnazjum, gymnasium, gymnasieskola
      университет*, *университет, университета, университету, академи*, институт*, школа*, школ*, лицей, гимназия
      колледж*, образован*, πανεπιστ*, πολυτεχν*
      大学, 大學, 学院, 學院, 学校, 學校, 教育, 대학, 학교, 교육, 연구원, 研究所, มหาวิทยาลัย, โรงเรียน, جامعة, الجامعة, دانشگاه, אוניברסיטה
      המכללה, विश्वविद्यालय
    `,
  },
  {
    classification: 'education',
    weight: 4,
    words: `
      school, schools, schule, schulen, *schule, *skola, skola, skolan, *skolan, skole, *skole, skoler, skolen
      szkola, szkoly, skoly, koulu, *koulu, okul*, kolej, koleji, sekolah, madrasah, *schools, schul*, scolaire
      istituto, academy, academia, academic, academie, akadem*, academ*, *academy
      forschung*, *forschung, forschungs*, wissenschaft*, nauk, naukow*, onderzoek*, rechercheinstitut, recherche
      investigacion, investigaciones, pesquisa, research council, nren, *nren, campus, *campus, student*, studierend*
      studentenwerk, studentenwohnheim*, education*, educat*, educac*, *education, edu, *edu, eduroam, egitim*
      oktatas*, vzdelav*, prosvet*, pendidikan, giao duc, k12, onderwijs*, undervisning*, utdanning*, utbildning*
      opetus*
      research institute, research institution, research center, research centre, research laboratory
      research organization, laboratoire, universitetsforlaget, edunet*, planetarium, observatory, observatoire
      observatorio, sternwarte
    `,
  },
  {
    classification: 'education',
    weight: 3,
    words: `
      institute, institut*, instituto, institutet, libraries, library, biblioteca, bibliotek*, bibliothek*
      *bibliothek, bibliotheque*, kutuphane
    `,
  },
  {
    classification: 'education',
    weight: 2,
    words: `
      uni, scientific, science, sciences, research, teaching, learning, training center, trustees, regents, ciencia
      ciencias
    `,
  },
  {
    classification: 'neutral',
    weight: 0,
    words: `
      universal*, universe, universo, collegiate, schooner, schoolhouse, studentized, colegios profesionales
      institutional, institutional capital, scholastic
    `,
  },
]
