/** What an agent was told to remember, and what it may be asked later; half of the questions share no telling word with their answer. */
export const labelled: readonly { question: string; answer: string }[] = [
  {
    question: 'When does the dentist want to see me?',
    answer: 'The dentist appointment is on Tuesday at 9.',
  },
  {
    question: 'Which beverage does she prefer in the morning?',
    answer: 'Maria drinks tea, never coffee, at breakfast.',
  },
  {
    question: 'How do I get into the holiday home?',
    answer: 'The key of the cabin lies under the blue flower pot.',
  },
  {
    question: 'What is the wifi password?',
    answer: 'The wifi password of the office is taped below the printer.',
  },
  { question: 'Who fixes our heating?', answer: 'The boiler is serviced by Mr Huber every autumn.' },
  { question: 'What food must we avoid for Tom?', answer: 'Tom is allergic to peanuts and shellfish.' },
  {
    question: 'Where did we park the car?',
    answer: 'The car stands on level 3 of the garage at the station.',
  },
  { question: 'Where is our automobile?', answer: 'The car stands on level 3 of the garage at the station.' },
  { question: 'How old is the dog?', answer: 'Our dog Rex was born in 2019.' },
  { question: 'What pet do we have?', answer: 'Our dog Rex was born in 2019.' },
  { question: 'When are invoices due?', answer: 'Invoices must be paid within thirty days.' },
  {
    question: 'How long do customers have to send the money?',
    answer: 'Invoices must be paid within thirty days.',
  },
  {
    question: 'Which train goes to Bern?',
    answer: 'The train to Bern leaves from platform 7 at half past every hour.',
  },
  {
    question: 'What did the boss say about working from home?',
    answer: 'Remote work is allowed on Mondays and Fridays, the manager decided.',
  },
  {
    question: 'How do I restart the server?',
    answer: 'To restart the server, run the deploy script with the flag restart.',
  },
  {
    question: 'What is a good present for grandmother?',
    answer: 'Grandma collects porcelain owls and loves gifts of that kind.',
  },
  { question: 'When is the garbage picked up?', answer: 'The trash is collected on Thursday before seven.' },
  {
    question: 'Where can I leave my bicycle?',
    answer: 'Bikes may be stored in the cellar next to the laundry.',
  },
];

export const memories: readonly string[] = [
  ...new Set(labelled.map(({ answer }) => answer)),
  'The quarterly report is written by the finance team.',
  'The piano needs to be tuned before the concert.',
  'The museum is closed on Mondays.',
  'Anna moved to Lisbon last spring.',
  'The recipe calls for two cups of flour.',
  'The meeting room on the second floor seats twelve.',
  'The warranty of the washing machine ends in June.',
  'The football match was cancelled because of snow.',
];
