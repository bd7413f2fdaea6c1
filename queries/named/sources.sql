-- Every file that was found, what it was taken for and why, and its account
SELECT 1;
